package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sortedOf(values []float64) *Sorted {
	var s Sorted
	for _, v := range values {
		s.Add(v)
	}
	return &s
}

func TestSortedHasEachRank(t *testing.T) {
	assert.Zero(t, new(Sorted).Median())
	for name, next := range map[string]func(i int) float64{
		"any order":  func(int) float64 { return rand.Float64() },
		"ascending":  func(i int) float64 { return float64(i) },
		"descending": func(i int) float64 { return -float64(i) },
		"few values": func(int) float64 { return float64(rand.IntN(3)) },
	} {
		t.Run(name, func(t *testing.T) {
			var values []float64
			for i := range 5*mostInChunk + 1 {
				values = append(values, next(i))
			}
			s := sortedOf(values)
			slices.Sort(values)
			require.Equal(t, len(values), s.Len())
			require.Equal(t, values, s.values())
			for rank, v := range values {
				require.Equal(t, v, s.at(rank))
			}
			assert.Equal(t, Median(values), s.Median())
		})
	}
}

// What a sample costs does not depend on the number before it: only the values of one chunk move, and the ends of the chunks.
func TestSortedMovesFewValues(t *testing.T) {
	var s Sorted
	for i := range 1 << 18 {
		s.Add(math.Mod(float64(i)*math.Phi, 1))
	}
	for _, chunk := range s.chunks {
		require.LessOrEqual(t, len(chunk), mostInChunk)
		require.Greater(t, len(chunk), mostInChunk/4)
	}
}
