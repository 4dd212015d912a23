package view

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/base/packed"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
	"gorun/internal/stats"
)

func TestCellLabel(t *testing.T) {
	cell := &result.Cell{
		Name: "n", Group: "g", Flags: map[string]string{"pin-cpus": "0-3", "lock-thread": "false", "empty": ""},
		CPUs: map[string]result.CPUs{"cpus": {Count: 8}, "pin-cpus": {Count: 4}},
	}
	for _, c := range []struct {
		column result.FlagColumn
		want   string
	}{
		{result.FlagColumn{Flag: "group"}, "g"},
		{result.FlagColumn{Flag: "pin-cpus", Style: "cpus"}, "T-4"},
		{result.FlagColumn{Flag: "other", Style: "cpus"}, "F (8)"},
		{result.FlagColumn{Flag: "pin-cpus", Style: "truth"}, "T"},
		{result.FlagColumn{Flag: "lock-thread", Style: "truth"}, "F"},
		{result.FlagColumn{Flag: "other", Style: "truth"}, "F"},
		{result.FlagColumn{Flag: "other", Unset: "default"}, "default"},
		{result.FlagColumn{Flag: "empty", Unset: "default"}, ""},
		{result.FlagColumn{Flag: "pin-cpus"}, "0-3"},
		{result.FlagColumn{Flag: "pin-cpus", Style: "of another version"}, "0-3"},
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
			Matrix: &result.Matrix{Figures: []result.JudgedFigure{{Column: "cpu_seconds", Label: "CPU time", Second: c.second}}},
			Cells:  []result.Cell{{}, {Verdict: &c.decides, Verdicts: map[string]stats.Verdict{"cpu_seconds": c.other}}},
		}
		assert.Len(t, CellPhrases(run, 1, false), c.want, name)
	}
}

// What is undecided has a next step: the command that decides it, if its forecast says so, after 20.5 s, or after the budget.
func TestNextBlock(t *testing.T) {
	run := func(rounds int, forecast *stats.Forecast, command string) *result.Run {
		words := strings.Fields(command)
		first := result.Cell{}
		if at := slices.Index(words, "sh"); at >= 0 { // the user's own command
			first.Command = append([]string{"exec", "--"}, words[at:]...)
		}
		return &result.Run{
			Command: words, Matrix: &result.Matrix{Rounds: rounds, Precision: 0.02},
			Cells:   []result.Cell{first, {Verdict: &stats.Verdict{Kind: stats.CantTell, Forecast: forecast}}},
			Samples: packed.Of(result.Sample{Slot: &result.Slot{Round: 8, Elapsed: 20.5}}),
		}
	}
	next := func(run *result.Run, resumes bool) string {
		return strings.TrimPrefix(strings.TrimSpace(NextBlock(run, resumes, term.Options{Width: 200})), "next: gorun ")
	}
	soon := &stats.Forecast{Kind: stats.Decision, Rounds: 10, Seconds: 39.2}
	for _, c := range []struct {
		rounds, resumes int
		command, want   string
	}{
		{0, 1, "matrix primes --workers 2,3 --budget=20s --out a", "matrix primes --budget 1m0s --resume --workers 2,3 --out a"},
		{0, 1, "matrix primes --workers 2,3 --budget 20s --resume --out=a", "matrix primes --budget 1m0s --resume --workers 2,3 --out a"},
		{0, 1, "ab a b --resume --resume-changed --out a", "ab --budget 1m0s --resume a b --out a"},
		{0, 1, "exec --placements a,b --out a -- sh --out 3", "exec --budget 1m0s --resume --placements a,b --out a -- sh --out 3"},
		{0, 1, "exec --copies 1,2 --out a sh --budget 3 --", "exec --budget 1m0s --resume --copies 1,2 --out a sh --budget 3 --"},
		{0, 1, "exec --placements a,b --nice 3 sh -- --out b", "exec --budget 1m0s --placements a,b --nice 3 sh -- --out b"},
		{0, 1, "ab a b --svg c --out a", "ab --budget 1m0s --resume a b --svg c --out a"},
		{0, 1, "bench --out=a . -- -test.short", "bench --budget 1m0s --resume --out a . -- -test.short"},
		{0, 1, "live --pid 9 --vary placement=a,b --out a", "live --budget 1m0s --resume --pid 9 --vary placement=a,b --out a"},
		{0, 1, "live --pid 9 --vary placement=a,b", "live --budget 1m0s --pid 9 --vary placement=a,b"},
		{0, 1, "ab a b --precision 3%", "ab --budget 1m0s a b --precision 3%"},
		{0, 1, "", ""},
		{0, 0, "pair --auto --out a", "pair --budget 1m0s --auto --out a-2"},
		// More than the fixed number of samples is another run.
		{9, 1, "matrix primes --samples 9 --workers 2,3 --out=a.jsonl", "matrix primes --budget 1m0s --samples 0 --resume --workers 2,3 --out a.jsonl"},
		{9, 1, "ab -r=9 a b --out d-2/a-2.jsonl", "ab --budget 1m0s --samples 0 --resume a b --out d-2/a-2.jsonl"},
		{9, 1, "exec --placements a,b -r 9 --out - -- sh -r 9", "exec --budget 1m0s --samples 0 --placements a,b --out - -- sh -r 9"},
		{9, 1, "ab --runs 9 a b --precision 3%", "ab --budget 1m0s --samples 0 a b --precision 3%"},
		{9, 0, "pair --samples=9 --auto --out a", "pair --budget 1m0s --precision 2% --auto --out a-2"},
		{9, 0, "numa -r9 -w 1 --precision 3%", "numa --budget 1m0s --precision 2% -w 1"},
		// The budget was too small for the number.
		{19, 1, "ab --runs 19 a b --out a", "ab --budget 1m0s --resume --samples 19 a b --out a"},
		{19, 0, "numa --out a -r19 -w1", "numa --budget 1m0s --out a-2 --samples 19 -w1"},
	} {
		assert.Equal(t, c.want, next(run(c.rounds, soon, c.command), c.resumes == 1))
	}
	limited := run(0, soon, "bench --out=a .") // 10 s of its budget passed before the first sample
	limited.Matrix.Budget = 30
	assert.Equal(t, "bench --budget 1m10s --resume --out a .", next(limited, true))
	assert.Empty(t, next(run(0, &stats.Forecast{Kind: stats.Resolution, Seconds: 5, Resolution: 0.06}, "matrix primes"), true))
	assert.Empty(t, next(run(0, nil, "matrix primes"), true))
}
