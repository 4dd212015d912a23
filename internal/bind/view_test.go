package bind

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render/chart"
	"gorun/internal/render/term"
	"gorun/internal/result"
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
		all, want := trials{at: map[place]float64{}}, 0.0
		for process := range c.processes {
			all.processes = append(all.processes, process)
			for trial := range c.trials {
				for _, bound := range []bool{false, true} {
					ms := float64(1 + (process*31+trial*17)%13)
					all.at[place{process, trial, bound}] = ms
					want += ms
				}
			}
		}
		for trial := range c.trials {
			all.rounds = append(all.rounds, trial)
		}
		h, legend, ok := all.heat()
		require.True(t, ok)
		require.Len(t, h.Rows, c.rows+1)
		require.Len(t, h.Columns, c.columns)
		means := h.At[c.rows]
		require.Equal(t, meanName, h.Rows[c.rows].Name)
		if perColumn := (c.trials + mostColumns - 1) / mostColumns; c.trials%perColumn == 0 {
			sum := 0.0
			for _, mean := range means {
				sum += mean
			}
			assert.InDelta(t, want/float64(len(all.at)), sum/float64(len(means)), 1e-6)
		}
		assert.Equal(t, "A is unbound, B is bound; P1 is process 0 of the data"+c.legend+".", legend)
	}
}

// Times that have no room are a digit each, in the colour of its place in the scale.
func TestCompactHeat(t *testing.T) {
	run := &result.Run{Matrix: &result.Matrix{Order: result.Order{Design: result.Pairs}}}
	for round := range 10 {
		for _, bound := range []bool{false, true} {
			f := Figures{Bound: bound}
			for process := range 20 {
				f.Processes = append(f.Processes, Process{Process: process, Seconds: 0.1 + float64(process*round)})
			}
			run.Samples = append(run.Samples, result.Sample{Slot: &result.Slot{Round: round}, Values: result.FiguresOf(&f)})
		}
	}
	text := mapBlock(run, nil, term.Options{})
	assert.Contains(t, text, "\n        A                    B\n    P1  0 0 0 0 0 0 0 0 0 0  0 0 0 0 0 0 0 0 0 0\n")
	assert.Contains(t, text, "\n   P20  0 7 7 8 8 9 9 9 9 9  0 7 7 8 8 9 9 9 9 9\n")
	assert.Contains(t, text, "\n  ms, from:  0 100  ")
	assert.Less(t, strings.Count(text, "\n"), 30)
	assert.Contains(t, mapBlock(run, nil, term.Options{Colour: true}), term.Options{Colour: true}.Paint(chart.Shades[9].Terminal(), " 9"))
	assert.Contains(t, mapBlock(run, nil, term.Options{Width: 200}), "  100")
}
