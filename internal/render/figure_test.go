package render

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/column"
	"gorun/internal/render/chart"
	"gorun/internal/render/rendertest"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/table"
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
	f, ok := chart.SamplePanels(seriesAt([]float64{100, 100, 120}, []float64{120, 200, 100}))
	require.True(t, ok)
	heights := map[string]string{}
	for _, m := range regexp.MustCompile(`d="M\S+ (\S+)m-2 [^>]*><title>sample \d+: (.*?), valid`).FindAllStringSubmatch(f.SVG, -1) {
		assert.Equal(t, m[1], cmp.Or(heights[m[2]], m[1]), m[2])
		heights[m[2]] = m[1]
	}
	assert.Len(t, heights, 3)
}

// Of many samples, several have a bar, which never hides the longest.
func TestSamplePanelsLosesNothing(t *testing.T) {
	many := seriesAt(slices.Repeat([]float64{100, 120}, 5000), slices.Repeat([]float64{160}, 5000))
	many.Series[0].Points[777].Seconds = 9
	f, ok := chart.SamplePanels(many)
	require.True(t, ok)
	samples, bars := 0, regexp.MustCompile(`<title>(\d+) samples?: `).FindAllStringSubmatch(f.SVG, -1)
	for _, m := range bars {
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		samples += n
	}
	assert.Equal(t, 15000, samples)
	assert.LessOrEqual(t, len(bars), 2000)
	assert.Contains(t, f.SVG, "samples: 0.100 s … 9.000 s, median")
}

// busyRows are rows with a sample that says how busy CPUs were.
func busyRows(cells, cpus int) []view.Row {
	rows := make([]view.Row, cells)
	for i := range rows {
		s := result.Sample{Seconds: 2}
		for cpu := range cpus {
			s.CPUs = append(s.CPUs, result.CPU{CPU: cpu, BusySeconds: float64((i*7+cpu*3)%10) / 5})
		}
		rows[i] = view.Row{Name: fmt.Sprintf("workers=%d", i+1), Samples: []result.Sample{s}}
	}
	return rows
}

func TestCPUStrip(t *testing.T) {
	rows := busyRows(3, 8)
	rows[0].Samples[0].CPUs = rows[0].Samples[0].CPUs[:7]
	rows[2].Samples = append(rows[2].Samples, rows[1].Samples...)
	f, ok := chart.CPUStrip(rows)
	require.True(t, ok)
	rendertest.Figure(t, f)
	require.Len(t, f.Table.Rows, 8)
	assert.Equal(t, table.Number{X: 0.55, Unit: column.Share}, f.Table.Rows[0].Values[3], "the mean of two samples")
	assert.Nil(t, f.Table.Rows[7].Values[1], "what is not known is no zero")
	assert.Contains(t, f.SVG, "<title>CPU 0: 55.0 %</title>")
	assert.Contains(t, f.SVG, ">3.30 of 7 CPUs busy<")
	for _, rows := range [][]view.Row{nil, {{Samples: []result.Sample{{CPUs: []result.CPU{{}}}}}}, busyRows(1, 8193)} {
		_, ok = chart.CPUStrip(rows)
		assert.False(t, ok, "no sample tells, no part of no time, too many")
	}
	// A figure can be sent even where no two neighbours are alike.
	for _, c := range []struct{ cells, cpus, drawn int }{{1, 8192, 1}, {20, 4096, 2}, {90, 128, 64}, {150, 8, 100}} {
		f, ok := chart.CPUStrip(busyRows(c.cells, c.cpus))
		require.True(t, ok)
		rendertest.Figure(t, f)
		assert.Less(t, len(f.SVG), 600<<10)
		assert.Len(t, f.Table.Columns, 1+c.drawn)
		assert.Equal(t, c.cells > c.drawn, strings.Contains(f.Description, "are not"))
	}
}
