package migrate

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/result"
	"gorun/internal/stats"
)

// moved is a sample of moves of a kind.
func moved(relation string, cell int, bytes, reached uint64, move, refill float64) result.Sample {
	cost := move + refill
	s := result.Sample{
		Slot: &result.Slot{Cell: cell}, Values: result.FiguresOf(&Figures{
			Relation: relation, CPUB: map[string]int{"same-cpu": 0, "same-llc": 1, "cross-node": 2}[relation], WorkingSet: bytes,
			Every: 1e-3, NS: 2, Move: &move, Refill: &refill, RefillBytes: reached, Cost: &cost,
		}),
	}
	s.Quality.Verdict = result.Valid
	return s
}

// judged has a cell for each of some samples, with its verdict.
func judged(kinds ...stats.Kind) *result.Run {
	run := &result.Run{Experiment: "migrate", Matrix: &result.Matrix{Title: compared, Margin: 0.02, Alpha: 0.05}}
	for _, kind := range kinds {
		run.Cells = append(run.Cells, result.Cell{Verdict: &stats.Verdict{Kind: kind}})
	}
	return run
}

// The answer says what the moves cost that cost most: of those whose working set was refilled, and made accesses slower.
func TestAnswer(t *testing.T) {
	const refilled, beyond = 16 << 10, 64 << 20
	for name, c := range map[string]struct {
		samples []result.Sample
		kinds   []stats.Kind
		want    string
	}{
		"a thread that stays": {
			[]result.Sample{moved("same-cpu", 0, refilled, refilled, 1e-6, 1e-6)},
			[]stats.Kind{stats.Slower},
			"",
		},
		"medians that add up": {
			[]result.Sample{
				moved("same-llc", 0, refilled, refilled, 3e-6, 1e-6), moved("same-llc", 0, refilled, refilled, 1e-6, 2e-6),
				moved("same-llc", 0, refilled, refilled, 2e-6, 9e-6),
			},
			[]stats.Kind{stats.CantTell},
			"A move to another core with the same last-level cache costs 4.00 µs, of which 2.00 µs refill 16 KiB.",
		},
		"the far one costs more": {
			[]result.Sample{
				moved("same-llc", 0, refilled, refilled, 3e-6, 1e-6), moved("cross-node", 1, refilled, refilled, 5e-6, 4e-6),
			},
			[]stats.Kind{stats.CantTell, stats.CantTell},
			"A move to another node costs 9.00 µs, of which 4.00 µs refill 16 KiB.",
		},
		"one had no time": {
			[]result.Sample{
				moved("same-llc", 0, refilled, refilled, 3e-6, 1e-6), moved("same-llc", 1, beyond, 1<<20, 5e-6, 4e-6),
			},
			[]stats.Kind{stats.CantTell, stats.Slower},
			"A move to another core with the same last-level cache costs 4.00 µs, of which 1.00 µs refill 16 KiB.",
		},
		"none had time": {
			[]result.Sample{moved("same-llc", 0, beyond, 1<<20, 5e-6, 4e-6)},
			[]stats.Kind{stats.Slower},
			"A move to another core with the same last-level cache costs 9.00 µs, of which 4.00 µs refill " +
				"1 MiB of 64 MiB before the next move.",
		},
		"what is slower counts": {
			[]result.Sample{
				moved("same-llc", 0, refilled, refilled, 3e-6, 1e-6), moved("same-llc", 1, 32<<10, 32<<10, 5e-6, 4e-6),
			},
			[]stats.Kind{stats.Slower, stats.Same},
			"A move to another core with the same last-level cache costs 4.00 µs, of which 1.00 µs refill 16 KiB.",
		},
		"nothing to refill": {
			[]result.Sample{moved("cross-node", 0, refilled, refilled, 3e-6, 0)},
			[]stats.Kind{stats.Slower},
			"A move to another node costs 3.00 µs, and nothing to refill 16 KiB.",
		},
	} {
		run := judged(c.kinds...)
		run.Samples = c.samples
		got := ""
		if statements := answer(run, nil); len(statements) > 0 {
			got = statements[0].Text
		}
		assert.Equal(t, c.want, got, name)
	}
}

// What each relation costs most becomes a finding. The control's samples are the baseline's, and are left out.
func TestDerived(t *testing.T) {
	run := judged(stats.Slower, stats.Same, stats.Slower)
	run.Matrix.Baseline = 1
	run.Samples = []result.Sample{
		moved("cross-node", 2, 32<<10, 32<<10, 5e-6, 4e-6), moved("same-llc", 0, 16<<10, 16<<10, 3e-6, 1e-6),
		moved("same-cpu", 1, 16<<10, 16<<10, 1e-9, 2e-9), moved("same-cpu", 1, 16<<10, 16<<10, 1, 1),
	}
	run.Samples[3].Control = true
	findings, _ := derived(run)
	assert.Len(t, findings, 2)
	assert.Equal(t, "move-cost", findings[0].Code)
	assert.InDelta(t, 4e-6, findings[0].Value, 1e-12)
}
