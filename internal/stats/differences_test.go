package stats

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDifferences: a difference that all rounds have is found exactly; without one, or after few rounds, nothing is claimed.
func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		rounds int
		of     float64
		bound  bool
	}{{5, 3, false}, {40, 3, true}, {40, -3, true}, {40, 0, false}} {
		d := NewDifferences(0.05/14, 0.001)
		for range c.rounds {
			d.Add(c.of, math.NaN())
		}
		found := d.Found()
		assert.InDelta(t, c.of, found.Typical, 1e-12, c)
		assert.Equal(t, c.bound && c.of > 0, found.Clear(1), c)
		assert.Equal(t, c.bound && c.of < 0, found.Clear(-1), c)
		if c.rounds > 5 {
			require.NotNil(t, found.Lo, c)
			require.NotNil(t, found.Hi, c)
			assert.InDelta(t, c.of, *found.Lo, 0.0011)
			assert.InDelta(t, c.of, *found.Hi, 0.0011)
			assert.Less(t, *found.Lo, *found.Hi)
		}
	}
	assert.Equal(t, Shift{}, NewDifferences(0.05, 1).Found())
}

// TestDifferencesHold: of equal cells, and of cells with more spread than the baseline, at most the stated share of intervals leaves out the
// true difference, also of figures that are mostly 0.
func TestDifferencesHold(t *testing.T) {
	const runs, rounds, alpha = 400, 60, 0.05
	for _, spread := range []float64{1, 2, 5} {
		for _, zeros := range []float64{0, 0.8} {
			for _, shift := range []float64{0, 2} {
				source := rand.New(rand.NewPCG(20260102, uint64(10*spread+zeros+100*shift)))
				draw := func(spread float64) float64 {
					if source.Float64() < zeros {
						return 0
					}
					return spread * source.NormFloat64()
				}
				wrong, found := 0, 0
				for range runs {
					d := NewDifferences(alpha, 0.001)
					for range rounds {
						cell := draw(spread) + shift
						d.Add(cell-draw(1), cell-draw(1))
					}
					of := d.Found()
					if of.Lo != nil && *of.Lo > shift || of.Hi != nil && *of.Hi < shift {
						wrong++
					}
					if of.Clear(shift) {
						found++
					}
				}
				assert.LessOrEqual(t, float64(wrong), alpha*runs, "spread %v, zeros %v, shift %v", spread, zeros, shift)
				if spread == 1 && shift > 0 {
					assert.Greater(t, found, runs*9/10, "zeros %v", zeros)
				}
			}
		}
	}
}

// TestDifferencesAreBounded: what they keep does not grow with a long run.
func TestDifferencesAreBounded(t *testing.T) {
	d := NewDifferences(0.05, 1)
	for range MostDifferences + 10 {
		d.Add(1, 1)
	}
	assert.Equal(t, MostDifferences, d.Rounds())
}

// TestDifferencesBetAsRatios: on the logarithms of ratios, the ends are those of the sequence for ratios.
func TestDifferencesBetAsRatios(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	s, d := newSequence(0.05, gridFor(0.001)), NewDifferences(0.05, 1e-6)
	for i := range 80 {
		base := 0.03 + 0.05*source.NormFloat64()
		duplicate := 0.03 + 0.05*source.NormFloat64()
		if i%5 == 0 {
			duplicate = math.NaN()
		}
		s.add(base, duplicate)
		d.Add(base, duplicate)
	}
	ends, found := s.ends(), d.Found()
	require.NotNil(t, found.Lo)
	require.NotNil(t, found.Hi)
	assert.InDelta(t, math.Log(ends.Lo), *found.Lo, 1.1e-3, "they are rounded to a part of the spread")
	assert.InDelta(t, math.Log(ends.Hi), *found.Hi, 1.1e-3)
	d.sorted = Sorted{} // so that they are not
	for range 10 {
		d.sorted.Add(0)
	}
	assert.InDelta(t, math.Log(ends.Lo), *d.end(+1, 0), 2e-4)
	assert.InDelta(t, math.Log(ends.Hi), *d.end(-1, 0), 2e-4)
	assert.InDelta(t, math.Log(s.ratio()), found.Typical, 1e-12)
}

// TestEndsAreShort: ends are short decimals, and are ruled out themselves; the next step toward the typical difference is not.
func TestEndsAreShort(t *testing.T) {
	for _, scale := range []float64{1e-6, 0.3, 7000} {
		source := rand.New(rand.NewPCG(3, uint64(1000*scale)))
		d := NewDifferences(0.05, 1e-9)
		for range 50 {
			d.Add(scale*source.NormFloat64(), scale*source.NormFloat64())
		}
		found, step := d.Found(), d.step()
		require.NotNil(t, found.Lo)
		require.NotNil(t, found.Hi)
		assert.Less(t, step, scale)
		assert.Greater(t, step, scale/1000)
		for _, c := range []struct {
			toward int
			end    float64
		}{{+1, *found.Lo}, {-1, *found.Hi}} {
			steps := math.Round(c.end / step)
			assert.LessOrEqual(t, len(strconv.FormatFloat(c.end, 'g', -1, 64)), 12, "%v", c.end)
			assert.True(t, d.ruledOut(c.toward, steps*step))
			assert.False(t, d.ruledOut(c.toward, (steps+float64(c.toward))*step))
		}
	}
}
