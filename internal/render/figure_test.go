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
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/table"
	"gorun/internal/units"
)

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
		samples += int(row.Values[1].(table.Number).X)
		found = found || row.Values[4].(table.Spread).Most == 9
	}
	assert.Equal(t, 15000, samples)
	assert.True(t, found, "the longest sample shows")
}
