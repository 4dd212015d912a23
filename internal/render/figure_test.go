package render

import (
	"fmt"
	"math"
	"regexp"
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
	"gorun/internal/units"
)

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
	const circle = "a3.5 3.5 0"
	assert.NotContains(t, without.SVG, circle, "not in the legend either")
	assert.Equal(t, 2*2, strings.Count(f.SVG, circle), "one in the legend and one in the row, each of two arcs")
	rendertest.XML(t, f.SVG)
}

// Every figure that is judged has a mark of its own shape and ink, whatever their number, and the legend has them all.
func TestRatioForestMarksDiffer(t *testing.T) {
	run := matrixRun()
	cell := slices.IndexFunc(run.Cells, func(c result.Cell) bool { return c.Verdict != nil })
	run.Cells[cell].Verdicts = map[string]stats.Verdict{}
	for _, name := range []string{"CPU time", "faults", "switches", "misses"} {
		run.Matrix.Figures = append(run.Matrix.Figures, result.Figure{Column: name, Label: name})
		run.Cells[cell].Verdicts[name] = stats.Verdict{Kind: stats.Slower, Typical: stats.Effect{Ratio: 3, Lo: 2.5, Hi: 3.5}}
	}
	f, ok := chart.RatioForest(run)
	require.True(t, ok)
	legend := f.SVG[:strings.Index(f.SVG, "data-cell")]
	marks := regexp.MustCompile(`<g class="(.)"><path d="M-11 0h22" stroke-width="2"/><path d="M0.0 0([^"]+)"/>`).FindAllStringSubmatch(legend, -1)
	require.Len(t, marks, 6)
	seen := map[string]bool{}
	for _, m := range marks {
		assert.False(t, seen[m[1]+m[2]], "%s comes twice", m[0])
		seen[m[1]+m[2]] = true
	}
	assert.Contains(t, f.SVG, "<title>CPU time: 2.5–3.5 × as long</title>")
	assert.Contains(t, f.SVG, "<title>misses: 2.5–3.5 × as much</title>", "which is not a time")
}

// The title and the words of the axis are those of what is compared.
func TestRatioForestSaysWhatItCompares(t *testing.T) {
	for datum, want := range map[string][2]string{
		"":                 {"Ratio to the baseline: wall time", "takes longer →"},
		"ns_per_op":        {"Ratio to the baseline: time", "takes longer →"},
		result.DatumMetric: {"Ratio to the baseline: metric", ">more →"},
	} {
		run := matrixRun()
		run.Matrix.Datum = datum
		f, ok := chart.RatioForest(run)
		require.True(t, ok)
		assert.Equal(t, want[0], f.Title)
		assert.Contains(t, f.SVG, want[1])
		assert.Equal(t, datum == result.DatumMetric, strings.Contains(f.SVG, "as much"), datum)
	}
}

// seriesAt are series of samples that took these times in ms.
func seriesAt(times ...[]float64) view.SeriesSet {
	set := view.SeriesSet{What: "wall time", Timed: true}
	for i, of := range times {
		s := view.Series{Name: fmt.Sprintf("cell %d", i)}
		for n, ms := range of {
			s.Points = append(s.Points, view.Point{Index: n, At: float64(n), Seconds: ms / 1e3, Verdict: result.Valid})
		}
		set.Series = append(set.Series, s)
	}
	return set
}

// The panels of cells have the same scale: a time is at the same height in each.
func TestSamplePanelsShareOneScale(t *testing.T) {
	f, ok := chart.SamplePanels(seriesAt([]float64{100, 100, 120}, []float64{120, 200, 100}), units.ScaleFrom(1, []float64{0.1, 0.12}))
	require.True(t, ok)
	heights := map[string]map[string]bool{}
	for _, m := range regexp.MustCompile(`d="M\S+ (\S+)a2 [^>]*><title>sample \d+: (.*?), valid`).FindAllStringSubmatch(f.SVG, -1) {
		if heights[m[2]] == nil {
			heights[m[2]] = map[string]bool{}
		}
		heights[m[2]][m[1]] = true
	}
	require.Len(t, heights, 3)
	for time, of := range heights {
		assert.Len(t, of, 1, time)
	}
	panels := strings.Split(f.SVG, "data-cell")[1:]
	ticks := func(panel string) []string {
		panel, _, _ = strings.Cut(panel, "data-below")
		return regexp.MustCompile(`font-size="11">[0-9.]+ ms`).FindAllString(panel, -1)
	}
	require.NotEmpty(t, ticks(panels[0]))
	assert.Equal(t, ticks(panels[0]), ticks(panels[1]))
}

// The legend names the marks that occur, and no other.
func TestSamplePanelsLegend(t *testing.T) {
	set := seriesAt([]float64{100, 100, 120})
	scale := units.ScaleOf([]float64{0.1})
	plain, ok := chart.SamplePanels(set, scale)
	require.True(t, ok)
	set.Series[0].Points[0].Verdict, set.Series[0].Points[1].Control = result.Suspect, true
	mixed, ok := chart.SamplePanels(set, scale)
	require.True(t, ok)
	for mark, in := range map[string][2]bool{
		">valid<": {true, true}, ">suspect<": {false, true}, ">of the baseline&#39;s duplicate<": {false, true},
		">invalid or cut short<": {false, false}, ">median<": {true, true},
	} {
		assert.Equal(t, in[0], strings.Contains(plain.SVG, mark), mark)
		assert.Equal(t, in[1], strings.Contains(mixed.SVG, mark), mark)
	}
}

// All cells lie on one axis: a time is at the same place in each row, and the axis has one unit.
func TestCellTimes(t *testing.T) {
	set := seriesAt([]float64{100, 300, 200}, []float64{200}, []float64{900, 200})
	f, ok := chart.CellTimes(set, units.ScaleFrom(1, []float64{0.1, 0.9}))
	require.True(t, ok)
	assert.Equal(t, [][]string{
		{"cell 0", "3", "0.1", "0.2", "0.3"}, {"cell 1", "1", "0.2", "0.2", "0.2"}, {"cell 2", "2", "0.2", "0.55", "0.9"},
	}, f.Table.Rows)
	rows := strings.Split(f.SVG, "data-cell")[1:]
	dots := func(row string) (at []string) {
		for _, m := range regexp.MustCompile(`<circle cx="(\S+)"`).FindAllStringSubmatch(row, -1) {
			at = append(at, m[1])
		}
		return at
	}
	require.Len(t, rows, 3)
	assert.Equal(t, dots(rows[0])[2], dots(rows[1])[0])
	assert.Equal(t, dots(rows[0])[2], dots(rows[2])[1])
	assert.NotEqual(t, dots(rows[0])[0], dots(rows[0])[2])
	_, axis, _ := strings.Cut(f.SVG, "data-below")
	assert.NotEmpty(t, regexp.MustCompile(`>[0-9]+ ms<`).FindAllString(axis, -1))
	assert.NotRegexp(t, `[0-9] (s|µs)<`, f.SVG)
	_, ok = chart.CellTimes(seriesAt([]float64{1, 2}), units.Scale{})
	assert.False(t, ok, "one series is compared with nothing")
}

// Every sample is drawn or in a stretch, and a stretch never hides its extremes.
func TestSamplePanelsLosesNothing(t *testing.T) {
	times := func(n int) []float64 {
		list := make([]float64, n)
		for i := range list {
			list[i] = 160 * (1 + 0.05*math.Sin(float64(i)/500) + 0.001*float64(i*7%11))
		}
		return list
	}
	few, ok := chart.SamplePanels(seriesAt(times(100), times(100)), units.ScaleOf([]float64{0.1}))
	require.True(t, ok)
	assert.Len(t, few.Table.Rows, 200)
	many := seriesAt(times(10000), times(5000))
	many.Series[0].Points[777].Seconds = 9
	f, ok := chart.SamplePanels(many, units.ScaleOf([]float64{0.1}))
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
	assert.Equal(t, 15000, samples)
	assert.True(t, found, "the longest sample shows")
}
