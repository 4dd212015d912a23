package view

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// What the second line says of a cell, by what is known of it.
func TestCause(t *testing.T) {
	part := func(name, label string, x float64) result.Part {
		lo, hi := x-0.001, x+0.001
		return result.Part{Name: name, Label: label, Unit: result.WhySeconds, Baseline: 1, Shift: stats.Shift{Typical: x, Lo: &lo, Hi: &hi}}
	}
	wall, waiting := part(result.WhyWall, "wall time", 0.02), part(result.WhyWaiting, "waiting for a CPU", 0.019)
	moves, shared := part("moves", "moves", 0.5), part("throttled", "throttled", 0.018)
	shared.Of = []string{result.WhyRunning, result.WhyWaiting, result.WhyBlocked}
	for name, c := range map[string]struct {
		compared string
		kind     stats.Kind
		why      *result.Why
		want     string
	}{
		"a cause": {
			"", stats.Slower, &result.Why{Wall: wall, Parts: []result.Part{waiting}, Drivers: []result.Part{moves}, Cause: "waiting", ExplainedBy: []string{"moves"}},
			"waiting for a CPU +19.0 ms (+18.0 ms to +20.0 ms), of a difference of +20.0 ms; moves +500 ms (+499 ms to +501 ms)",
		},
		"several parts": {
			"", stats.Slower, &result.Why{
				Wall: wall, Parts: []result.Part{part(result.WhyRunning, "running", 0.009), waiting, part(result.WhyBlocked, "blocked", 0)},
				Drivers: []result.Part{shared, moves}, Cause: "throttled", ExplainedBy: []string{"moves"},
			},
			"throttled +18.0 ms (+17.0 ms to +19.0 ms): running +9.00 ms and waiting for a CPU +19.0 ms, of a difference of +20.0 ms; moves +500 ms (+499 ms to +501 ms)",
		},
		"of another figure": {
			"metric", stats.Slower, &result.Why{Wall: wall, Parts: []result.Part{waiting}, Cause: "waiting"},
			"waiting for a CPU +19.0 ms (+18.0 ms to +20.0 ms), of a difference of +20.0 ms in the time of a sample",
		},
		"along with it": {
			"metric", stats.Slower, &result.Why{Wall: wall, Drivers: []result.Part{moves}, Along: []string{"moves"}},
			"along with it, moves +500 ms (+499 ms to +501 ms)",
		},
		"no part": {
			"", stats.Slower, &result.Why{Wall: wall, Parts: []result.Part{waiting}},
			"no part of the time is known to hold half of the difference, +20.0 ms (+19.0 ms to +21.0 ms)",
		},
		"nothing":     {"metric", stats.Slower, &result.Why{Wall: wall}, ""},
		"not claimed": {"", stats.CantTell, &result.Why{Wall: wall, Parts: []result.Part{waiting}, Cause: "waiting"}, ""},
		"not known":   {"", stats.Slower, nil, ""},
	} {
		run := &result.Run{Matrix: &result.Matrix{Compared: c.compared}, Cells: []result.Cell{
			{}, {Verdict: &stats.Verdict{Kind: c.kind}, Why: c.why},
		}}
		assert.Equal(t, c.want, Cause(run, 1), name)
	}
}

// Figures that lack for the same reason stand together. Each has what it would have answered, and in how many rounds it lacks if not in all.
func TestMissingWords(t *testing.T) {
	assert.Empty(t, missingWords(&result.Why{}))
	assert.Equal(t, "Not counted: cycles (how fast), TLB misses (how far) in 3 of 9 rounds: no counter. Not counted: energy (how much): only root may.",
		missingWords(&result.Why{Rounds: 9, Missing: []result.Missing{
			{Label: "cycles", Answers: "how fast", Rounds: 9, Why: "no counter"},
			{Label: "energy", Answers: "how much", Rounds: 9, Why: "only root may"},
			{Label: "TLB misses", Answers: "how far", Rounds: 3, Why: "no counter"},
		}}))
	assert.Equal(t, "Not counted: cycles (how fast).", missingWords(&result.Why{Rounds: 9, Missing: []result.Missing{{Label: "cycles", Answers: "how fast", Rounds: 9}}}))
}
