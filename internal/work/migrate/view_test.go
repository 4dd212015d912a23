package migrate

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// The answer says what the moves cost that cost most: of those whose working set was refilled, and made accesses slower.
func TestAnswer(t *testing.T) {
	const core, far = "same-llc", "cross-node"
	type moves struct {
		relation       string
		cell           int
		bytes, reached uint64
		move, refill   float64 // in microseconds
	}
	for name, c := range map[string]struct {
		want    string
		cells   []stats.Kind
		samples []moves
	}{
		"a thread that stays": {"", []stats.Kind{stats.Slower}, []moves{{"same-cpu", 0, 16 << 10, 16 << 10, 1, 1}}},
		"medians that add up": {
			"A move to another core with the same last-level cache costs 4.00 µs, including 2.00 µs to refill 16 KiB.",
			[]stats.Kind{stats.CantTell},
			[]moves{{core, 0, 16 << 10, 16 << 10, 3, 1}, {core, 0, 16 << 10, 16 << 10, 1, 2}, {core, 0, 16 << 10, 16 << 10, 2, 9}},
		},
		"the far one costs more": {
			"A move to another node costs 9.00 µs, including 4.00 µs to refill 16 KiB.",
			[]stats.Kind{stats.CantTell, stats.CantTell},
			[]moves{{core, 0, 16 << 10, 16 << 10, 3, 1}, {far, 1, 16 << 10, 16 << 10, 5, 4}},
		},
		"one had no time": {
			"A move to another core with the same last-level cache costs 4.00 µs, including 1.00 µs to refill 16 KiB.",
			[]stats.Kind{stats.CantTell, stats.Slower},
			[]moves{{core, 0, 16 << 10, 16 << 10, 3, 1}, {core, 1, 64 << 20, 1 << 20, 5, 4}},
		},
		"none had time": {
			"A move to another core with the same last-level cache costs 9.00 µs, including 4.00 µs to refill 1 MiB of 64 MiB before the next move.",
			[]stats.Kind{stats.Slower},
			[]moves{{core, 0, 64 << 20, 1 << 20, 5, 4}},
		},
		"what is slower counts": {
			"A move to another core with the same last-level cache costs 4.00 µs, including 1.00 µs to refill 16 KiB.",
			[]stats.Kind{stats.Slower, stats.Same},
			[]moves{{core, 0, 16 << 10, 16 << 10, 3, 1}, {core, 1, 32 << 10, 32 << 10, 5, 4}},
		},
		"nothing to refill": {
			"A move to another node costs 3.00 µs, and nothing to refill 16 KiB.",
			[]stats.Kind{stats.Slower},
			[]moves{{far, 0, 16 << 10, 16 << 10, 3, 0}},
		},
	} {
		run := &result.Run{Matrix: &result.Matrix{Title: compared, Margin: 0.02, Alpha: 0.05}}
		for _, kind := range c.cells {
			run.Cells = append(run.Cells, result.Cell{Verdict: &stats.Verdict{Kind: kind}})
		}
		for _, m := range c.samples {
			move, refill := m.move/1e6, m.refill/1e6
			run.Samples.Append(&result.Sample{Slot: &result.Slot{Cell: m.cell}, Values: result.FiguresOf(&Figures{
				Relation: m.relation, WorkingSet: m.bytes, Move: &move, Refill: &refill, RefillBytes: m.reached, Cost: &move,
			})})
		}
		got := ""
		if statements := answer(run); len(statements) > 0 {
			got = statements[0].Text
		}
		assert.Equal(t, c.want, got, name)
	}
}
