package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Following two ratios gives the same ends as following every ratio of the grid from the first round on.
func TestSequenceIsThatOfTheWholeGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const g = grid(100)
		s := newSequence(0.1, g)
		centre := rapid.Float64Range(-0.5, 0.5).Draw(t, "centre")
		width := rapid.Float64Range(0.001, 0.5).Draw(t, "width")
		source := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		below, above := map[int]*purse{}, map[int]*purse{}
		lo, hi := 0.0, math.MaxFloat64
		for i := -90; i <= 300; i++ {
			b, a := boldly, boldly
			below[i], above[i] = &b, &a
		}
		for k := range rapid.IntRange(1, 60).Draw(t, "rounds") {
			r := round{centre + width*source.NormFloat64(), math.NaN(), 0}
			if source.IntN(4) > 0 {
				r.duplicate = centre + width*source.NormFloat64()
			}
			if k >= scaleRounds {
				r.spread = s.sorted.deviation()
			}
			s.add(r.base, r.duplicate)
			for i := range below {
				below[i].bet(r.payoff(1, math.Log(g.ratio(i))))
				above[i].bet(r.payoff(-1, math.Log(g.ratio(i))))
				if below[i].wealth() >= s.lower.limit {
					lo = max(lo, g.ratio(i))
				}
				if above[i].wealth() >= s.upper.limit {
					hi = min(hi, g.ratio(i))
				}
			}
			got := s.ends()
			if got.Lo > 0.1 || lo > 0 { // beyond what this test follows
				require.Equal(t, lo, got.Lo, "round %d", k)
			}
			if got.Hi < 4 || hi < 4 {
				require.Equal(t, hi, got.Hi, "round %d", k)
			}
		}
	})
}

func TestSequenceOfFewOrEqualRounds(t *testing.T) {
	s := newSequence(0.05, gridFor(0.02))
	assert.Equal(t, Effect{Hi: math.MaxFloat64}, s.ends())
	assert.EqualValues(t, 1, s.ratio())
	for range 100 {
		s.add(0, 0)
	}
	assert.Equal(t, Effect{Lo: 0.999, Hi: 1.001}, s.ends())
	assert.EqualValues(t, 1, s.ratio())

	far := newSequence(0.05, gridFor(0.02))
	for range 100 {
		far.add(math.Log(1e5), math.NaN())
	}
	assert.GreaterOrEqual(t, far.ends().Lo, 1000.0)
	assert.Equal(t, math.MaxFloat64, far.ends().Hi)
}

func TestGrid(t *testing.T) {
	for precision, steps := range map[float64]grid{
		0.2: 100, 0.1: 100, 0.05: 1000, 0.02: 1000, 0.01: 1000, 0.005: 1e4, 0.001: 1e4,
	} {
		assert.Equal(t, steps, gridFor(precision), "%v", precision)
	}
	g := grid(1000)
	assert.Equal(t, 1.021, g.ratio(21))
	assert.Equal(t, 0.979, g.ratio(-21))
	for from, to := range map[Effect]Effect{
		{1, 1.01234, 1.01234}:   {1, 1.012, 1.013},
		{1, 0.0001, 0.0001}:     {1, 0, 0.001},
		{1, 0, math.Inf(1)}:     {1, 0, math.MaxFloat64},
		{1, 0, math.MaxFloat64}: {1, 0, math.MaxFloat64},
	} {
		assert.Equal(t, to, g.outward(from))
	}
	measured, open := Effect{1.02, 1.01, 1.03}, Effect{1, 0, math.MaxFloat64}
	assert.Equal(t, Effect{1.02 / 1.01, 0.99, 1.029}, g.quotient(measured, Effect{1.01, 1.001, 1.02}))
	assert.Equal(t, Effect{1.02, 0, math.MaxFloat64}, g.quotient(measured, open))
	assert.Equal(t, Effect{1 / 1.02, 0, math.MaxFloat64}, g.quotient(open, measured))
}

// The ends are the same whether they are asked for after each round or once.
func TestEndsWhenAsked(t *testing.T) {
	for k := range uint64(40) {
		source := rand.New(rand.NewPCG(k, 1))
		each, once := newSequence(0.01, gridFor(0.001)), newSequence(0.01, gridFor(0.001))
		for i := range 60 {
			shift := 0.3 * float64(k%5) * float64(i%(1+int(k))) / float64(1+k) // some ratios change
			base, duplicate := shift+0.1*source.NormFloat64(), shift+0.1*source.NormFloat64()
			each.add(base, duplicate)
			once.add(base, duplicate)
			each.ends()
		}
		require.Equal(t, each.ends(), once.ends(), "%d", k)
		assert.Equal(t, each.lower.purse, once.lower.purse)
	}
}
