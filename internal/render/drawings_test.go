package render

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
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
	ContentionCurves, CoreToCoreMap, NUMAMaps, NUMALatency, MigrationTimeline, chart.CPUStrip,
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

// What a stranger's journal holds is drawn within bounds, or not at all.
func TestDrawingsOfStrangers(t *testing.T) {
	odd := []float64{0, -1, 1, 1e-9, 5e-324, 1e-300, math.MaxFloat64, -math.MaxFloat64, 7.5, 64, 1 << 16, 1 << 30}
	lines := map[string][]byte{}
	for _, name := range []string{"samples", "contend-samples", "c2c-partial", "numa-moves", "numa-buffers"} {
		line, err := json.Marshal(fixtures()[name])
		require.NoError(t, err)
		lines[name] = line
	}
	// Some numbers of a run are others. Whole ones stay whole, or the journal could not be read.
	var change func(random *rand.Rand, value any) any
	change = func(random *rand.Rand, value any) any {
		switch value := value.(type) {
		case float64:
			if random.IntN(8) > 0 {
				return value
			}
			if x := odd[random.IntN(len(odd))]; value != math.Trunc(value) || x == math.Trunc(x) && math.Abs(x) <= 1<<30 {
				return x
			}
		case []any:
			for i := range value {
				value[i] = change(random, value[i])
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(value)) {
				value[name] = change(random, value[name])
			}
		}
		return value
	}
	drawn := 0
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 0))
		for _, name := range slices.Sorted(maps.Keys(lines)) {
			var tree map[string]any
			require.NoError(t, json.Unmarshal(lines[name], &tree))
			for _, part := range []string{"samples", "rows", "caches"} {
				tree[part] = change(random, tree[part])
			}
			line, err := json.Marshal(tree)
			require.NoError(t, err)
			run := new(result.Run)
			if json.Unmarshal(line, run) != nil {
				continue // -1 is no count
			}
			for _, draw := range drawings {
				if f, ok := draw(run); ok {
					rendertest.Figure(t, f)
					drawn++
				}
			}
		}
	}
	assert.Greater(t, drawn, 50)
}
