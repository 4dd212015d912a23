package render

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render/chart"
	"gorun/internal/render/rendertest"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/stats"
)

// drawers are the figures that show runs of any experiment.
var drawers = map[string]func(run *result.Run) (chart.Figure, bool){
	"forest": chart.RatioForest,
	"samples": func(run *result.Run) (chart.Figure, bool) {
		return chart.SamplePanels(all.Of(run.Experiment).Compared.SeriesOf(run))
	},
}

// longRun has many samples of some cells, which drift.
func longRun(cells, rounds int) *result.Run {
	list := make([]result.Cell, cells)
	for i := range list {
		list[i] = result.Cell{Name: fmt.Sprintf("cell %d", i), Summary: rendertest.Timed(0.16)}
	}
	run := cellRun(0, rounds, list...)
	for i := range run.Samples {
		run.Samples[i].Seconds *= 1 + 0.05*math.Sin(float64(i)/500) + 0.001*float64(i*7%11)
	}
	return run
}

// What is drawn of any run is XML, whatever is in its texts, and its table has as many cells a row as headings.
func TestFiguresAreSound(t *testing.T) {
	runs := fixtures()
	runs["hostile-names"] = matrixRun()
	for i := range runs["hostile-names"].Cells {
		cell := &runs["hostile-names"].Cells[i]
		cell.Name, cell.Words = "<b>&\""+rendertest.Hostile, "<b>"+rendertest.Hostile
	}
	for name, run := range runs {
		for kind, draw := range drawers {
			f, ok := draw(run)
			if !ok {
				assert.Empty(t, f, "%s of %s", kind, name)
				continue
			}
			rendertest.XML(t, f.SVG)
			for _, bad := range []string{"NaN", "Inf", "%!", "\x1b", "\u202e"} {
				assert.NotContains(t, f.SVG+f.Description, bad, "%s of %s", kind, name)
			}
			for _, row := range f.Table.Rows {
				require.Len(t, row, len(f.Table.Head), "%s of %s", kind, name)
				for _, cell := range row {
					assert.NotContains(t, cell, "\x1b")
				}
			}
		}
	}
}

// The forest has a mark of its own for each figure that is judged, and the table beside it has its ratio and interval.
func TestRatioForestShowsEachFigure(t *testing.T) {
	run := matrixRun()
	run.Matrix.Figures = []result.Figure{{Column: "cpu_seconds", Label: "CPU <time>"}}
	cell := slices.IndexFunc(run.Cells, func(c result.Cell) bool { return c.Verdict != nil })
	require.GreaterOrEqual(t, cell, 0)
	without, ok := chart.RatioForest(run)
	require.True(t, ok)
	run.Cells[cell].Verdicts = map[string]stats.Verdict{
		"cpu_seconds": {Kind: stats.Slower, Typical: stats.Effect{Ratio: 1.25, Lo: 1.125, Hi: math.MaxFloat64}},
	}
	f, ok := chart.RatioForest(run)
	require.True(t, ok)
	assert.Equal(t, []string{"CPU <time>", "from", "to", "verdict"}, f.Table.Head[7:])
	assert.Equal(t, []string{"1.25", "1.125", "not bounded yet"}, f.Table.Rows[0][7:10])
	assert.Equal(t, []string{"-", "-", "-"}, without.Table.Rows[0][7:10], "not judged")
	assert.Contains(t, f.SVG, "CPU &lt;time&gt;</text>", "the legend")
	assert.Contains(t, f.SVG, "<title>CPU &lt;time&gt;: at least +12%</title>")
	assert.Equal(t, 1+strings.Count(without.SVG, "<circle"), strings.Count(f.SVG, "<circle"))
	rendertest.XML(t, f.SVG)
}

// Every sample is drawn or in a stretch, and a stretch never hides its extremes.
func TestSamplePanelsLosesNothing(t *testing.T) {
	few, ok := chart.SamplePanels(view.Compared{}.SeriesOf(longRun(2, 100)))
	require.True(t, ok)
	assert.Len(t, few.Table.Rows, 300, "two cells and the duplicate")
	many := longRun(2, 5000)
	many.Samples[777].Seconds = 9
	f, ok := chart.SamplePanels(view.Compared{}.SeriesOf(many))
	require.True(t, ok)
	assert.LessOrEqual(t, len(f.Table.Rows), 2000)
	samples, found := 0, false
	for _, row := range f.Table.Rows {
		var n int
		_, err := fmt.Sscan(row[1], &n)
		require.NoError(t, err)
		samples += n
		found = found || row[6] == "9"
	}
	assert.Equal(t, len(many.Samples), samples)
	assert.True(t, found, "the longest sample shows")
}

func TestSeriesOf(t *testing.T) {
	set := view.Compared{}.SeriesOf(matrixRun())
	assert.True(t, set.Timed)
	require.Len(t, set.Series, 6)
	assert.Len(t, set.Series[0].Points, 6, "with the duplicate")
	assert.Equal(t, 0.161, set.Series[0].Points[0].Seconds)
}
