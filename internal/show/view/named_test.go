package view

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

func TestNamed(t *testing.T) {
	flags := map[string]string{"nice": "0", "gomaxprocs": "1", "lock-thread": "true", "pin-cpus": "share:1/2 all", "n": "9", "text": "a --n 9 b"}
	for name, want := range map[string]string{
		"--nice 0 --gomaxprocs 1":      "nice 0 · GOMAXPROCS 1",
		"--gomaxprocs 1 --lock-thread": "GOMAXPROCS 1 · lock-thread",
		"first --nice 0":               "first · nice 0",
		"--pin-cpus 'share:1/2 all'":   "pin-cpus share:1/2 all",
		"--text 'a --n 9 b' --n 9":     "text a --n 9 b · n 9",
		"./a --nice 01":                "./a --nice 01",
		"sort":                         "sort",
	} {
		run := &result.Run{Cells: []result.Cell{{Name: name, Flags: flags}}}
		assert.Equal(t, want, Named(run).Cells[0].Name)
		assert.Equal(t, name, run.Cells[0].Name, "the run is as it was")
	}
	no := map[string]string{"lock-thread": "false"}
	run := Named(&result.Run{Cells: []result.Cell{{Name: "--lock-thread=false", Flags: no}, {Name: "--lock-thread", Flags: flags}}})
	assert.Equal(t, []string{"no lock-thread", "lock-thread"}, CellTitles(run))
}

// A cell that has no samples of the last rounds says why, and no other does.
func TestSeriesEnd(t *testing.T) {
	run := &result.Run{Matrix: &result.Matrix{}, Cells: []result.Cell{
		{Name: "baseline"},
		{Name: "soon", Verdict: &stats.Verdict{Kind: stats.Faster}},
		{Name: "gone", Verdict: &stats.Verdict{Kind: stats.Invalid}},
		{Name: "last", Verdict: &stats.Verdict{Kind: stats.Slower}},
	}}
	for round := range 3 {
		for cell := range run.Cells {
			if round == 2 && (cell == 1 || cell == 2) {
				continue
			}
			s := result.Sample{Index: run.Samples.Len(), Seconds: 1}
			s.Slot = &result.Slot{Cell: cell, Round: round}
			run.Samples.Append(&s)
		}
	}
	var ends []string
	for _, s := range (Shape{Columns: column.Common()}).Series(run).Series {
		ends = append(ends, s.Ended)
	}
	assert.Equal(t, []string{"", "decided", "given up", ""}, ends)
}

// The program of a title is that of all cells, or of the process that runs already.
func TestProgram(t *testing.T) {
	cells := func(commands ...string) (all []result.Cell) {
		for _, c := range commands {
			all = append(all, result.Cell{Command: []string{"exec", "--", c, "x"}})
		}
		return all
	}
	for want, run := range map[string]*result.Run{
		"redis-server": {Spec: map[string]any{"program": "redis-server, process 12 and its descendants"}},
		"a":            {Cells: cells("./a", "/bin/a")},
		"":             {Cells: cells("./a", "./b")},
	} {
		assert.Equal(t, want, Program(run))
	}
}
