package stats

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Every live cell appears once; each block has the baseline and its duplicate once and at most BlockCells others,
// spread evenly.
func TestRoundIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.IntRange(2, 60).Draw(t, "cells")
		baseline := rapid.IntRange(0, cells-1).Draw(t, "baseline")
		var live []int
		for cell := range cells {
			if cell != baseline && rapid.Bool().Draw(t, "live") {
				live = append(live, cell)
			}
		}
		o := order{seed: rapid.Uint64().Draw(t, "seed"), baseline: baseline, control: cells}
		number := rapid.IntRange(0, 1000).Draw(t, "number")
		round := o.round(number, live, false)
		var taken []int
		shortest, longest := len(round[0]), 0
		for _, block := range round {
			shortest, longest = min(shortest, len(block)), max(longest, len(block))
			require.LessOrEqual(t, len(block), BlockCells+2)
			for _, always := range []int{baseline, cells} {
				at := slices.Index(block, always)
				require.GreaterOrEqual(t, at, 0)
				block = slices.Delete(slices.Clone(block), at, at+1)
			}
			taken = append(taken, block...)
		}
		require.LessOrEqual(t, longest-shortest, 1)
		require.Equal(t, max(1, (len(live)+BlockCells-1)/BlockCells), len(round))
		require.Equal(t, len(live)+2*len(round), round.Samples())
		require.ElementsMatch(t, live, taken)
		require.Equal(t, round, o.round(number, live, false), "the same seed")
	})
}

// Cells joined by contrasts are always in the same block, which may then hold one more cell.
func TestRoundKeepsContrasts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d Design
		cells := 1
		for range rapid.IntRange(1, 6).Draw(t, "groups") {
			size := rapid.IntRange(1, BlockCells+1).Draw(t, "size")
			for cell := cells + 1; cell < cells+size; cell++ {
				with := rapid.IntRange(cells, cell-1).Draw(t, "with")
				d.Contrasts = append(d.Contrasts, Contrast{A: with, B: cell})
			}
			cells += size
		}
		var live []int
		for cell := 1; cell < cells; cell++ {
			if rapid.IntRange(0, 3).Draw(t, "live") > 0 {
				live = append(live, cell)
			}
		}
		d.Contrasts = rapid.Permutation(d.Contrasts).Draw(t, "order")
		o := order{control: cells}
		require.NoError(t, o.join(d.Contrasts))
		block := map[int]int{}
		for i, cells := range o.round(rapid.IntRange(0, 100).Draw(t, "number"), live, false) {
			require.LessOrEqual(t, len(cells), BlockCells+3)
			for _, cell := range cells {
				block[cell] = i
			}
		}
		for _, c := range d.Contrasts {
			if slices.Contains(live, c.A) && slices.Contains(live, c.B) {
				require.Equal(t, block[c.A], block[c.B], "%+v", c)
			}
		}
	})
}

// Every cell appears equally often at every place, and as often before the baseline as after it.
func TestRoundIsRandom(t *testing.T) {
	const rounds, cells = 6000, 5
	live := []int{1, 2, 3, 4}
	o := order{seed: 7, control: cells}
	var places [cells + 1][cells + 1]int
	for k := range rounds {
		for place, cell := range o.round(k, live, false)[0] {
			places[cell][place]++
		}
	}
	for cell := range places {
		for place, count := range places[cell] {
			assert.InDelta(t, rounds/(cells+1), count, 130, "cell %d at place %d", cell, place)
		}
	}
	other := o
	other.seed = 8
	assert.NotEqual(t, o.round(0, live, false), other.round(0, live, false), "another seed")
	assert.NotEqual(t, o.round(0, live, false), o.round(1, live, false), "another round")
}
