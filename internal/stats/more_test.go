package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnnounced(t *testing.T) {
	for estimate, want := range map[float64]int{1: 2, 7: 9, 72: 90, 73: 100, 200: 300, 9e5: 0, math.Inf(1): 0} {
		assert.Equal(t, want, announced(estimate), "%v", estimate)
	}
}

// Where the rounds to come are like those before, the estimate is about the number that it takes.
func TestToRuleOut(t *testing.T) {
	after := func(rounds int) *sequence {
		s := newSequence(0.05, gridFor(0.02))
		for k := range rounds {
			s.add(0.004 + 0.01*math.Sin(float64(k))) // between −0.6% and +1.4%
		}
		return s
	}
	tells := func(s *sequence) bool {
		lo, hi := s.ends()
		return outside(lo, hi) || Effect{Lo: lo, Hi: hi}.within(0.01)
	}
	needed := warmRounds
	for !tells(after(needed)) {
		needed++
	}
	from := needed / 2
	assert.InDelta(t, 0, math.Log2(after(from).toTell(0.01)/float64(needed-from)), 1, "within a factor of 2")
	assert.Zero(t, after(1000).toTell(0.01))
	assert.True(t, math.IsInf(after(warmRounds).toTell(0.01), 1), "nothing is known")
}

func TestToDiffer(t *testing.T) {
	total := newTotals(0.01, gridFor(0.02))
	for range 50 {
		total.add(1.2, 1)
	}
	assert.InDelta(t, 50, total.toDiffer(), 1e-9, "the next look")
	total.lo, total.hi = 0.8, 1.8
	ratio := math.Log(1.8/0.8) / 2 / math.Log(1.2)
	assert.InDelta(t, 50*(ratio*ratio-1), total.toDiffer(), 1e-6)
}
