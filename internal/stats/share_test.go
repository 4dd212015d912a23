package stats

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestShare: the share that goes away is that of the changed one of the two, for a slower and for a faster cell.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		cell, changed float64 // in addition to the baseline's 10
		baseline      bool
		want          float64
	}{
		{4, 0, false, 1},
		{4, 4, false, 0},
		{4, 1, false, 0.75},
		{4, 5, false, -0.25},
		{4, -1, false, 1.25},
		{-4, -4, true, 1},
		{-4, 0, true, 0},
		{-4, -1, true, 0.25},
		{-4, 1, true, -0.25},
		{-4, -5, true, 1.25},
	} {
		s, noise := NewShare(0.05, 1e-9, c.baseline), rand.New(rand.NewPCG(7, 0))
		assert.Equal(t, Shift{}, s.Found())
		for range 40 {
			one := func(of float64) float64 { return of + 0.01*noise.NormFloat64() }
			s.Add(one(10+c.cell), one(10+c.changed), one(10), one(10))
		}
		found := s.Found()
		require.NotNil(t, found.Lo, "%+v", c)
		require.NotNil(t, found.Hi, "%+v", c)
		assert.InDelta(t, c.want, found.Typical, 0.005, "%+v", c)
		assert.Less(t, *found.Lo, c.want, "%+v", c)
		assert.Greater(t, *found.Hi, c.want, "%+v", c)
		assert.InDelta(t, c.want, *found.Lo, 0.02, "%+v", c)
		assert.InDelta(t, c.want, *found.Hi, 0.02, "%+v", c)
		assert.Equal(t, 40, s.Rounds())
	}
}

// TestShareNeedsADifference: of a cell that may be equal, no share is bounded.
func TestShareNeedsADifference(t *testing.T) {
	s, noise := NewShare(0.05, 1e-9, false), rand.New(rand.NewPCG(8, 0))
	for range 40 {
		s.Add(noise.NormFloat64(), noise.NormFloat64(), noise.NormFloat64(), noise.NormFloat64())
	}
	assert.Equal(t, Shift{}, s.Found())
}

// TestShareOfNegatives: a part on the other side of 0 is a larger share of a small difference than of a large one.
func TestShareOfNegatives(t *testing.T) {
	s, noise := NewShare(0.05, 1e-9, true), rand.New(rand.NewPCG(9, 0))
	for range 60 {
		s.Add(-4+noise.NormFloat64(), 2+0.01*noise.NormFloat64(), 0.01*noise.NormFloat64(), 0.01*noise.NormFloat64())
	}
	whole, found := s.whole.Found(), s.Found()
	require.NotNil(t, found.Lo)
	require.NotNil(t, found.Hi)
	assert.InDelta(t, 2 / *whole.Hi, *found.Lo, 0.01)
	assert.InDelta(t, 2 / *whole.Lo, *found.Hi, 0.01)
}

// TestShareAtHalf: where half of the difference goes away, at most 5% of families say at any look that it is more or less than that, in
// recorded noise, also if the cells have more spread than the baseline.
func TestShareAtHalf(t *testing.T) { withReplays(t, 30, 600, testShareAtHalf) }

func testShareAtHalf(t *testing.T, replays int) {
	const rounds, cells, alpha = 60, 2, 0.05
	for _, baseline := range []bool{false, true} {
		for _, spread := range []float64{1, 2, 5} {
			more, less, decided := 0, 0, 0
			for replay := range replays {
				trace := traces(t, "*.seq?.*.csv")
				n := start(trace, replay, replays)
				middle, signs := Median(n.seconds), rand.New(rand.NewPCG(uint64(replay), 12))
				draw := func(times float64) float64 { // as often below the middle as above it
					return middle + times*(n.next()-middle)*float64(2*signs.IntN(2)-1)
				}
				of := [cells]*Share{}
				by := middle / 2 * float64(1-2*signs.IntN(2))
				for i := range of {
					of[i] = NewShare(alpha/cells, 1e-9, baseline)
				}
				wasMore, wasLess := false, false
				for round := range rounds {
					base, duplicate := draw(1), draw(1)
					for i := range of {
						of[i].Add(draw(spread)+by, draw(spread)+by/2, base, duplicate)
						if round%5 == 4 {
							found := of[i].Found()
							wasMore = wasMore || found.Lo != nil && *found.Lo > 0.5
							wasLess = wasLess || found.Hi != nil && *found.Hi < 0.5
						}
					}
				}
				if found := of[0].Found(); found.Lo != nil && found.Hi != nil && *found.Hi-*found.Lo < 1 {
					decided++
				}
				if wasMore {
					more++
				}
				if wasLess {
					less++
				}
			}
			t.Logf("baseline changed %v, spread %v: of %d families, %d say more than half, %d less; %d bound the share", baseline, spread, replays, more, less, decided)
			assert.LessOrEqual(t, more*20, replays, "spread %v", spread)
			assert.LessOrEqual(t, less*20, replays, "spread %v", spread)
			if spread == 1 {
				assert.Greater(t, decided, replays/4, "the test must be able to fail")
			}
		}
	}
	wrong := count(replays, func(replay int) bool {
		source := rand.New(rand.NewPCG(uint64(replay), 13))
		s := NewShare(1, 1e-9, false)
		for range rounds {
			s.Add(1+source.NormFloat64()/4, 0.5+source.NormFloat64()/4, source.NormFloat64()/4, source.NormFloat64()/4)
		}
		found := s.Found()
		return found.Lo != nil && *found.Lo > 0.5 || found.Hi != nil && *found.Hi < 0.5
	})
	assert.Positive(t, wrong, "with an error of 100%, the wrong side is named")
}
