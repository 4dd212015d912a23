package render

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/packed"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/chart"
	"gorun/internal/show/rendertest"
	"gorun/internal/show/view"
)

// Of many samples, several have a bar, which never hides the longest.
func TestSamplePanelsLosesNothing(t *testing.T) {
	many := view.SeriesSet{Unit: column.Seconds}
	for i, n := range []int{10000, 5000} {
		s := view.Series{Name: fmt.Sprint("cell ", i), Points: make([]view.Point, n)}
		for k := range s.Points {
			s.Points[k] = view.Point{At: float64(k), Figure: 0.1 + 0.02*float64(k%2), Grade: result.Valid}
		}
		many.Series = append(many.Series, s)
	}
	many.Series[0].Points[777].Figure = 9
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

// Up to some hundred samples of a cell are marks; more are a density and boxes, with a caption. A cell that was not sampled to the end
// says why.
func TestManySamples(t *testing.T) {
	for n, many := range map[int]bool{200: false, 301: true} {
		set := view.SeriesSet{What: "rps", Of: "redis-server", Timed: true}
		for i, name := range []string{"a", "b"} {
			s := view.Series{Name: name, Ended: []string{"", "decided"}[i]}
			for k := range n {
				s.Points = append(s.Points, view.Point{Index: k, At: float64(k), Figure: 1000 + float64(k%7), Grade: result.Valid})
			}
			set.Series = append(set.Series, s)
		}
		times, ok := chart.CellTimes(set)
		require.True(t, ok)
		panels, ok := chart.SamplePanels(set)
		require.True(t, ok)
		for _, f := range []chart.Drawing{times, panels} {
			rendertest.Drawing(t, f)
			assert.Contains(t, f.Title, ": the rps of redis-server")
			assert.Contains(t, f.SVG, "median 1003 of "+strconv.Itoa(n))
		}
		assert.Equal(t, !many, strings.Contains(times.SVG, "<circle"))
		assert.Equal(t, many, strings.Contains(times.Description, "The shape is"))
		assert.Equal(t, many, strings.Contains(panels.SVG, "samples: 1000 … 1006, median"))
		assert.Equal(t, many, strings.Contains(panels.Description, "Each box"))
		assert.Equal(t, 1, strings.Count(panels.SVG, ">decided</text>"))
	}
}

// busyRows are rows with a sample that says how busy CPUs were.
func busyRows(cells, cpus int) []view.Measured {
	rows := make([]view.Measured, cells)
	for i := range rows {
		s := result.Sample{Seconds: 2}
		for cpu := range cpus {
			s.CPUs = append(s.CPUs, result.CPU{CPU: cpu, BusySeconds: float64((i*7+cpu*3)%10) / 5})
		}
		rows[i] = view.Measured{Name: fmt.Sprintf("workers=%d", i+1), Samples: packed.Of(s)}
	}
	return rows
}

func TestCPUStrip(t *testing.T) {
	rows := busyRows(3, 8)
	rows[0].Samples = rows[0].Samples.Map(func(_ int, s *result.Sample) { s.CPUs = s.CPUs[:7] })
	rows[2].Samples.Append(rows[1].Samples.At(0))
	f, ok := chart.CPUStrip(rows)
	require.True(t, ok)
	rendertest.Drawing(t, f)
	require.Len(t, f.Table.Rows, 8)
	assert.Equal(t, table.Number{X: 0.55, Unit: column.Share}, f.Table.Rows[0].Values[3], "the mean of two samples")
	assert.Nil(t, f.Table.Rows[7].Values[1], "what is not known is no zero")
	assert.Contains(t, f.SVG, "<title>CPU 0: 55.0 %</title>")
	assert.Contains(t, f.SVG, ">3.30 of 7 CPUs busy<")
	for _, rows := range [][]view.Measured{nil, {{Samples: packed.Of(result.Sample{CPUs: []result.CPU{{}}})}}, busyRows(1, 8193)} {
		_, ok = chart.CPUStrip(rows)
		assert.False(t, ok, "no sample tells, no part of no time, too many")
	}
	// A figure can be sent even where no two neighbours are alike.
	for _, c := range []struct{ cells, cpus, drawn int }{{1, 8192, 1}, {20, 4096, 2}, {90, 128, 64}, {150, 8, 100}} {
		f, ok := chart.CPUStrip(busyRows(c.cells, c.cpus))
		require.True(t, ok)
		rendertest.Drawing(t, f)
		assert.Less(t, len(f.SVG), 600<<10)
		assert.Len(t, f.Table.Columns, 1+c.drawn)
		assert.Equal(t, c.cells > c.drawn, strings.Contains(f.Description, "are not"))
	}
}
