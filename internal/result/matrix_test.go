package result

import (
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
