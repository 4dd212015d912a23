package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/column"
	"gorun/internal/render/chart"
	"gorun/internal/render/rendertest"
	"gorun/internal/result"
	"gorun/internal/table"
)

// busyRun is a matrix of so many cells, whose samples say how busy each CPU was.
func busyRun(cells, cpus int, share func(cell, cpu int) float64) *result.Run {
	run := rendertest.Run("primes", cpus, 1)
	run.Matrix = &result.Matrix{}
	for cell := range cells {
		run.Cells = append(run.Cells, result.Cell{Name: fmt.Sprintf("workers=%d", cell+1)})
	}
	for round := range 2 {
		for cell := range cells + 1 {
			s := rendertest.Sample(len(run.Samples), 2)
			s.Slot, s.CPUs = &result.Slot{Cell: cell % cells, Control: cell == cells, Round: round}, nil
			for cpu := range cpus {
				s.CPUs = append(s.CPUs, result.CPU{CPU: cpu, BusySeconds: 2 * share(cell, cpu)})
			}
			run.Samples = append(run.Samples, s)
		}
	}
	return run
}

func TestCPUStrip(t *testing.T) {
	run := busyRun(3, 8, func(cell, cpu int) float64 { return max(0, 1-float64(cell*cpu)/10) })
	run.Samples[0].CPUs = run.Samples[0].CPUs[:7]
	run.Samples[4].CPUs = run.Samples[4].CPUs[:7]
	run.Samples[1].CPUs[7].BusySeconds, run.Samples[5].CPUs[7].BusySeconds = 0, 0.5
	invalid := run.Samples[2]
	invalid.Quality.Verdict, invalid.CPUs = result.Invalid, []result.CPU{{CPU: 99, BusySeconds: 1}}
	run.Samples = append(run.Samples, invalid)
	f, ok := chart.CPUStrip(run)
	require.True(t, ok)
	rendertest.Figure(t, f)
	require.Len(t, f.Table.Rows, 8, "an invalid sample tells nothing")
	assert.Equal(t, table.Number{X: 0.4, Unit: column.Share}, f.Table.Rows[3].Values[3], "the control is not in its cell")
	assert.Nil(t, f.Table.Rows[7].Values[1], "what is not known is no zero")
	assert.Contains(t, f.SVG, "<title>CPU 3: 40.0 %, 1.60 s in 2 samples</title>")
	assert.Contains(t, f.SVG, "<title>workers=3: 3.00 CPUs busy, mean of 2 samples; most: CPU 0, 100.0 %;"+
		" least: CPU 5, 0.0 %; idle: 3.</title>")

	run = plainRun()
	f, ok = chart.CPUStrip(run)
	require.True(t, ok)
	assert.Contains(t, f.Description, "All samples: 1.97 CPUs busy")
	run.Samples[0].CPUs = run.Samples[0].CPUs[1:]
	f, ok = chart.CPUStrip(run)
	require.True(t, ok, "one CPU")
	rendertest.Figure(t, f)
	assert.Len(t, f.Table.Rows, 1)
	run.Samples[0].Seconds = 0
	_, ok = chart.CPUStrip(run)
	assert.False(t, ok, "no part of no time")
	_, ok = chart.CPUStrip(&result.Run{})
	assert.False(t, ok)
}

// Many cells and many CPUs make a figure that can be sent, even where no two neighbours are alike.
func TestCPUStripIsSmall(t *testing.T) {
	noise := func(cell, cpu int) float64 { return float64((cell*7+cpu*3)%10) / 10 }
	for _, c := range []struct{ cells, cpus, drawn int }{
		{1, 4096, 1}, {20, 4096, 4}, {50, 8, 40},
	} {
		f, ok := chart.CPUStrip(busyRun(c.cells, c.cpus, noise))
		require.True(t, ok)
		rendertest.Figure(t, f)
		assert.Less(t, len(f.SVG), 500<<10)
		assert.Len(t, f.Table.Columns, 1+c.drawn)
		assert.Equal(t, c.cells > c.drawn, strings.Contains(f.Description, "are not drawn"))
	}
	_, ok := chart.CPUStrip(busyRun(1, chart.MaxStripCPUs+1, noise))
	assert.False(t, ok)
}
