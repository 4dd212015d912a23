package render

import (
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render/chart"
	"gorun/internal/render/rendertest"
	"gorun/internal/result"
)

// drawings are the figures of single experiments, of one width.
var drawings = [...]func(run *result.Run) (chart.Figure, bool){
	NUMAMaps, NUMALatency, MigrationTimeline, chart.CPUStrip,
}

// drawingName is the name of a drawing's function.
func drawingName(draw func(run *result.Run) (chart.Figure, bool)) string {
	name := runtime.FuncForPC(reflect.ValueOf(draw).Pointer()).Name()
	return name[strings.LastIndexByte(name, '.')+1:]
}

// journalled is a run as it comes back from a journal.
func journalled(t require.TestingT, run *result.Run) *result.Run {
	line, err := json.Marshal(run)
	require.NoError(t, err)
	back := new(result.Run)
	require.NoError(t, json.Unmarshal(line, back))
	return back
}

// Every figure of every run is whole, depends on the run alone, and leaves the run as it is.
func TestDrawings(t *testing.T) {
	applied := map[string][]string{}
	for name, run := range fixtures() {
		back, untouched := journalled(t, run), journalled(t, run)
		soiled := rendertest.Soiled(t, run)
		soiled.Experiment = run.Experiment
		for _, draw := range drawings {
			of := drawingName(draw)
			f, ok := draw(run)
			if !ok {
				assert.Zero(t, f)
				continue
			}
			applied[of] = append(applied[of], name)
			rendertest.Figure(t, f)
			again, ok := draw(back)
			assert.True(t, ok, "%s of %s", of, name)
			assert.Equal(t, f, again, "%s of %s", of, name)
			if foreign, ok := draw(soiled); assert.True(t, ok, "%s of %s", of, name) {
				rendertest.Figure(t, foreign)
			}
		}
		for _, drawn := range []*result.Run{run, back} {
			assert.Equal(t, untouched, journalled(t, drawn), "%s is as it was", name)
		}
	}
	assert.Len(t, applied, len(drawings), "there is a fixture of each: %v", applied)
}
