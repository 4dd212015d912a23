package bind

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/record/result"
)

// For any numbers of processes and trials, the map is of readable size and includes all of them.
func TestHeat(t *testing.T) {
	for _, c := range []struct {
		processes, trials, rows, columns int
		legend                           string
	}{
		{1, 1, 1, 2, ""},
		{20, 10, 20, 20, ""},
		{39, 21, 20, 22, "; a row is the mean of up to 2 processes, by the first; a column is the mean of up to 2 trials, by the first"},
		{200, 10, 20, 20, "; a row is the mean of up to 10 processes, by the first"},
		{7, 45, 7, 30, "; a column is the mean of up to 3 trials, by the first"},
	} {
		run := &result.Run{}
		for i := range 2 * c.trials {
			f := Figures{Bound: i%2 == 1}
			for process := range c.processes {
				f.Processes = append(f.Processes, Process{Process: process, Seconds: float64(process)})
			}
			run.Samples.Append(&result.Sample{Slot: &result.Slot{Round: i / 2}, Values: result.FiguresOf(&f)})
		}
		h, legend, ok := heat(run)
		require.True(t, ok)
		require.Len(t, h.Rows, c.rows+1)
		require.Len(t, h.Columns, c.columns)
		require.Equal(t, "mean", h.Rows[c.rows].Name)
		for _, mean := range h.At[c.rows] {
			assert.InDelta(t, 1e3*float64(c.processes-1)/2, mean, 1e-6)
		}
		assert.Equal(t, "A is unbound, B is bound; P1 is process 0 of the data"+c.legend+".", legend)
	}
}
