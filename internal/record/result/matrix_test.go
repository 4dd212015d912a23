package result

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/stats"
)

func TestRank(t *testing.T) {
	cell := func(kind stats.Kind, ratio float64) Cell {
		return Cell{Verdict: &stats.Verdict{Kind: kind, Typical: stats.Effect{Ratio: ratio}}}
	}
	run := Run{Cells: []Cell{
		cell(stats.Slower, 1.5), cell(stats.Faster, 0.9),
		{},
		cell(stats.CantTell, 0.7), cell(stats.Invalid, 0),
		cell(stats.Faster, 0.8), cell(stats.Same, 1.01),
	}}
	assert.Equal(t, []int{5, 1, 2, 3, 6, 0}, run.Rank(), "what is not shown to be better is not before the baseline")
}

// Cells of one group are not told apart, neither by their intervals nor by a verdict, and each two that are not told apart are in
// one group.
func TestGrouped(t *testing.T) {
	cell := func(kind stats.Kind, lo, hi float64, reason ...string) Cell {
		v := stats.Verdict{Kind: kind, Rounds: 9, Typical: stats.Effect{Lo: lo, Hi: hi}}
		if len(reason) > 0 {
			v.Reason = reason[0]
		}
		return Cell{Verdict: &v}
	}
	run := Run{Matrix: &Matrix{Baseline: 2}, Cells: []Cell{
		cell(stats.Slower, 1.4, 1.6), cell(stats.Faster, 0.85, 0.9),
		{},
		cell(stats.CantTell, 0.99, 1.1), cell(stats.Slower, 1.05, 1.2), cell(stats.Slower, 1.19, 1.3),
		cell(stats.Faster, 0.5, 0.84), cell(stats.Invalid, 0, 0), cell(stats.Same, 0.985, 1.01),
		cell(stats.Confounded, 0.1, 0.2), cell(stats.CantTell, 0.1, 0.2, "5 of 9 samples of the cell are invalid"),
		cell(stats.CantTell, 0.3, 0.2),
		{Verdict: &stats.Verdict{Kind: stats.CantTell}},
	}}
	assert.Equal(t, [][]int{{6}, {1}, {8, 3, 2}, {3, 4}, {4, 5}, {0}}, run.Grouped())

	run.Cells[3] = cell(stats.CantTell, 0, math.MaxFloat64)
	assert.Equal(t, [][]int{{6}, {1}, {8, 2}, {4, 5}, {0}}, run.Grouped(), "nothing is known of cell 3")

	run.Cells[8] = cell(stats.Slower, 0.985, 1.01)
	assert.Equal(t, [][]int{{6}, {1}, {8}, {2}, {4, 5}, {0}}, run.Grouped(), "the total tells cell 8 from the baseline")

	claim := run.Cells[4].Verdict
	run.Matrix.Contrasts = []Contrast{{A: 4, B: 5, Verdict: claim}, {A: 0, B: 6, Verdict: claim}}
	assert.Equal(t, [][]int{{6}, {1}, {8}, {2}, {4}, {5}, {0}}, run.Grouped(), "a contrast tells 4 from 5")

	wide := Run{Matrix: &Matrix{}, Cells: []Cell{{}}}
	for i := range 12 { // any six that differ from their neighbours could be together
		wide.Cells = append(wide.Cells, cell(stats.CantTell, 0.5, 2))
		if i%2 == 1 {
			wide.Matrix.Contrasts = append(wide.Matrix.Contrasts, Contrast{A: i, B: i + 1, Verdict: claim})
		}
	}
	assert.Empty(t, wide.Grouped(), "more groups than cells")

	two := Run{Matrix: &Matrix{}, Cells: []Cell{{}, cell(stats.Slower, 1.4, 1.6)}}
	assert.Empty(t, two.Grouped(), "the verdict says it")
}
