package view

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/stats"
)

func TestCellLabel(t *testing.T) {
	cell := &result.Cell{
		Name: "n", Group: "g", Flags: map[string]string{"pin-cpus": "0-3", "lock-thread": "false", "empty": ""},
		CPUs: map[string]result.CPUs{"cpus": {Count: 8}, "pin-cpus": {Count: 4}},
	}
	for _, c := range []struct {
		column result.Column
		want   string
	}{
		{result.Column{Flag: "group"}, "g"},
		{result.Column{Flag: "pin-cpus", Style: "cpus"}, "T-4"},
		{result.Column{Flag: "other", Style: "cpus"}, "F (8)"},
		{result.Column{Flag: "pin-cpus", Style: "truth"}, "T"},
		{result.Column{Flag: "lock-thread", Style: "truth"}, "F"},
		{result.Column{Flag: "other", Style: "truth"}, "F"},
		{result.Column{Flag: "other", Unset: "default"}, "default"},
		{result.Column{Flag: "empty", Unset: "default"}, ""},
		{result.Column{Flag: "pin-cpus"}, "0-3"},
		{result.Column{Flag: "pin-cpus", Style: "of another version"}, "0-3"},
	} {
		assert.Equal(t, c.want, cellLabel(cell, c.column), "%+v", c.column)
	}
}

// Where wall time decides nothing, what is known at least twice as exactly is shown too.
func TestCellPhrases(t *testing.T) {
	verdict := func(kind stats.Kind, lo, hi float64) stats.Verdict {
		return stats.Verdict{Kind: kind, Typical: stats.Effect{Ratio: 1, Lo: lo, Hi: hi}, Margin: 0.02, Step: 0.001}
	}
	open, never := verdict(stats.CantTell, 0.8, 1.3), verdict(stats.CantTell, 0, math.MaxFloat64)
	for name, c := range map[string]struct {
		decides, other stats.Verdict
		second         bool
		want           int
	}{
		"more is known":         {open, verdict(stats.CantTell, 0.99, 1.04), false, 2},
		"nothing else is known": {never, open, false, 2},
		"hardly more":           {open, verdict(stats.CantTell, 0.85, 1.2), false, 1},
		"not bounded":           {never, never, false, 1},
		"of the second family":  {open, verdict(stats.CantTell, 0.99, 1.04), true, 1},
		"decided":               {verdict(stats.Same, 0.99, 1.01), verdict(stats.CantTell, 0.999, 1.04), false, 1},
		"both decided":          {verdict(stats.Same, 0.99, 1.01), verdict(stats.Slower, 1.03, 1.04), false, 2},
	} {
		run := &result.Run{
			Matrix: &result.Matrix{Figures: []result.JudgedColumn{{Column: "cpu_seconds", Label: "CPU time", Second: c.second}}},
			Cells:  []result.Cell{{}, {Verdict: &c.decides, Verdicts: map[string]stats.Verdict{"cpu_seconds": c.other}}},
		}
		assert.Len(t, CellPhrases(run, 1, false), c.want, name)
	}
}

// What is undecided has a next step: the command that decides it, if its forecast says so, after 20.5 s, or after the budget.
func TestNextBlock(t *testing.T) {
	run := func(rounds int, forecast *stats.Forecast, command string) *result.Run {
		words := strings.Fields(command)
		experiment := "primes"
		if len(words) > 0 && words[0] == "bench" {
			experiment = "bench"
		}
		return &result.Run{
			Experiment: experiment, Command: words, Matrix: &result.Matrix{Rounds: rounds},
			Cells:   []result.Cell{{}, {Verdict: &stats.Verdict{Kind: stats.CantTell, Forecast: forecast}}},
			Samples: []result.Sample{{Slot: &result.Slot{Elapsed: 20.5}}},
		}
	}
	next := func(run *result.Run) string {
		return strings.TrimPrefix(strings.TrimSpace(NextBlock(run, term.Options{Width: 200})), "next: gorun ")
	}
	soon := &stats.Forecast{Kind: stats.Decision, Rounds: 10, Seconds: 39.2}
	for command, want := range map[string]string{
		"matrix primes --workers 2,3 --budget=20s --out a":          "matrix primes --budget 1m0s --resume --workers 2,3 --out a",
		"matrix primes --workers 2,3 --budget 20s --resume --out=a": "matrix primes --budget 1m0s --resume --workers 2,3 --out=a",
		"primes -- sh --budget 3":                                   "primes --budget 1m0s -- sh --budget 3",
		"":                                                          "",
	} {
		assert.Equal(t, want, next(run(0, soon, command)))
	}
	for command, want := range map[string]string{
		"matrix primes --samples 9 --workers 2,3 --out=a": "matrix primes --budget 1m0s --samples 0 --workers 2,3",
		"primes --samples=9 --out a":                      "primes --budget 1m0s",
		"primes -r9 -w 1":                                 "primes --budget 1m0s -w 1",
		"ab -r=9 a b":                                     "ab --budget 1m0s --samples 0 a b",
		"primes --placements a,b -r 9 -- sh -r 9":         "primes --budget 1m0s --samples 0 --placements a,b -- sh -r 9",
	} {
		assert.Equal(t, want, next(run(9, soon, command)))
	}
	limited := run(0, soon, "bench --out=a .") // 10 s of its budget passed before the first sample
	limited.Matrix.Budget = 30
	assert.Equal(t, "bench --budget 1m10s --resume --out=a .", next(limited))
	assert.Empty(t, next(run(0, &stats.Forecast{Kind: stats.Resolution, Seconds: 5, Resolution: 0.06}, "matrix primes")))
	assert.Empty(t, next(run(0, nil, "matrix primes")))
	unclear := run(0, soon, "primes sh --budget 3")
	unclear.Cells[0].Command = []string{"primes", "--", "sh"}
	assert.Empty(t, next(unclear), "where the user's command begins is not known")
}
