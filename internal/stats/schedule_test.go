package stats

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Every live cell comes once; each block has the baseline once and at most BlockCells others, spread evenly.
func TestRoundIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.IntRange(2, 60).Draw(t, "cells")
		baseline := rapid.IntRange(0, cells-1).Draw(t, "baseline")
		var live []int
		for cell := range cells + 1 {
			if cell == cells || cell != baseline && rapid.Bool().Draw(t, "live") {
				live = append(live, cell)
			}
		}
		o := order{seed: rapid.Uint64().Draw(t, "seed"), baseline: baseline}
		number := rapid.IntRange(0, 1000).Draw(t, "number")
		round := o.round(number, live)
		var taken []int
		shortest, longest := len(round[0]), 0
		for _, block := range round {
			shortest, longest = min(shortest, len(block)), max(longest, len(block))
			require.LessOrEqual(t, len(block), BlockCells+1)
			at := slices.Index(block, baseline)
			require.GreaterOrEqual(t, at, 0)
			taken = append(taken, slices.Delete(slices.Clone(block), at, at+1)...)
		}
		require.LessOrEqual(t, longest-shortest, 1)
		require.Equal(t, (len(live)+BlockCells-1)/BlockCells, len(round))
		require.Equal(t, len(live)+len(round), round.Samples())
		slices.Sort(taken)
		require.Equal(t, live, taken)
		require.Equal(t, round, o.round(number, live), "the same seed")
	})
}

// Every cell comes equally often at every place, and as often before the baseline as after it.
func TestRoundIsRandom(t *testing.T) {
	const rounds, cells = 6000, 5
	live := []int{1, 2, 3, 4, 5}
	o := order{seed: 7}
	var places [cells + 1][cells + 1]int
	for k := range rounds {
		for place, cell := range o.round(k, live)[0] {
			places[cell][place]++
		}
	}
	for cell := range places {
		for place, count := range places[cell] {
			assert.InDelta(t, rounds/(cells+1), count, 130, "cell %d at place %d", cell, place)
		}
	}
	assert.NotEqual(t, o.round(0, live), order{seed: 8}.round(0, live), "another seed")
	assert.NotEqual(t, o.round(0, live), o.round(1, live), "another round")
}
