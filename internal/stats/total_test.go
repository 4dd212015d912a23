package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Compared with all flips of few rounds: next to an end, the share of flips as extreme as the observed sum is α/2, up
// to the error of random draws.
func TestFlipEndsInvertTheTest(t *testing.T) {
	const rounds, alpha = 14, 0.1
	source := rand.New(rand.NewPCG(3, 0))
	cell, base := make([]float64, rounds), make([]float64, rounds)
	for i := range rounds {
		cell[i], base[i] = 1.1*math.Exp(0.2*source.NormFloat64()), math.Exp(0.2*source.NormFloat64())
	}
	cell[4] *= 6
	p := func(ratio float64) float64 { // one-sided, that the true ratio is greater
		differences := make([]float64, rounds)
		for i := range rounds {
			differences[i] = cell[i]/ratio - base[i]
		}
		observed := sum(differences)
		return falseCalls(differences, func(d []float64) bool { return sum(d) >= observed-1e-9 })
	}
	e := endsOf(cell, base, alpha)
	assert.InDelta(t, alpha/2, p(e.Lo), alpha/3)
	assert.InDelta(t, 1-alpha/2, p(e.Hi), alpha/3)
}

// The test keeps its level with stalls and with more rounds than groups.
func TestFlipEndsLevel(t *testing.T) {
	const runs, alpha, truth = 1000, 0.1, 1.3
	for _, rounds := range []int{25, 130} {
		missed := count(runs, func(k int) bool {
			source := rand.New(rand.NewPCG(uint64(k), uint64(rounds)))
			sample := func() float64 {
				if source.IntN(10) == 0 {
					return 1 + 20*source.Float64()
				}
				return 1 + 0.1*source.Float64()
			}
			cell, base := make([]float64, rounds), make([]float64, rounds)
			for i := range rounds {
				cell[i], base[i] = truth*sample(), sample()
			}
			return !endsOf(cell, base, alpha).holds(truth)
		})
		t.Logf("%d rounds: %d of %d intervals missed", rounds, missed, runs)
		assert.InDelta(t, runs*alpha, missed, 30)
	}
}

func TestLooks(t *testing.T) {
	sum := 0.0
	for look := 1; look < 60; look++ {
		sum += lookShare(look)
	}
	assert.InDelta(t, 1, sum, 1e-9)

	total := newTotals(0.01, gridFor(0.02))
	looked := map[int]bool{}
	for k := 1; k <= 210; k++ {
		before := total.looks
		total.add(2.0004, 1)
		if k == 60 || k == 100 { // the end of a run, which does not look a second time at 100
			total.end()
		}
		looked[k] = total.looks > before
		if k < FirstLook {
			assert.Equal(t, Effect{Hi: math.MaxFloat64}, total.interval)
		}
	}
	for k, at := range looked {
		assert.Equal(t, k == 25 || k == 50 || k == 60 || k == 100 || k == 200, at, "round %d", k)
	}
	assert.Equal(t, Effect{Lo: 2, Hi: 2.001}, total.interval, "rounded outward")
	assert.InDelta(t, 2.0004, total.ratio(), 1e-9)
}

// Doubt needs a difference that is larger than the margin and probably not chance.
func TestDoubts(t *testing.T) {
	for _, c := range []struct {
		e    Effect
		want bool
	}{
		{Effect{1.03, 1.01, 1.05}, true},
		{Effect{0.97, 0.95, 0.99}, true},
		{Effect{1.01, 1.005, 1.015}, false},
		{Effect{1.03, 0.99, 1.07}, false},
	} {
		assert.Equal(t, c.want, c.e.doubts(0.02), "%+v", c.e)
	}
}

// endsOf returns the exact interval of these rounds.
func endsOf(cell, base []float64, alpha float64) Effect {
	f := flipsOf(cell, base)
	return f.ends(alpha, nil)
}

// An interval that is known before all flips are drawn lies on the same side of each compared ratio as the exact one, which it contains. Cells
// are equal, or differ by up to 12 standard errors, with the α of a cell of 200.
func TestEarlyEnds(t *testing.T) {
	const cells, alpha = 60, totalShare * 0.05 / 201 / 5
	for _, spread := range []float64{1, 2, 5} {
		early := 0
		for k := range cells {
			source := rand.New(rand.NewPCG(uint64(k), 7))
			truth := 1 + 0.012*float64(k)/cells
			var f flips
			for range 100 {
				f.add(truth*math.Exp(0.01*spread*source.NormFloat64()), math.Exp(0.01*source.NormFloat64()))
			}
			with := Design{Margin: 0.02}.compared(Effect{Lo: truth - 0.002, Hi: truth + 0.002})
			exact, got := f.ends(alpha, nil), f.ends(alpha, with)
			for _, r := range with.low {
				assert.Equal(t, exact.Lo > r, got.Lo > r, "cell %d: low end %v and %v, %v", k, exact.Lo, got.Lo, r)
			}
			for _, r := range with.high {
				assert.Equal(t, exact.Hi < r, got.Hi < r, "cell %d: high end %v and %v, %v", k, exact.Hi, got.Hi, r)
			}
			if got != exact {
				early++
				assert.LessOrEqual(t, got.Lo, exact.Lo)
				assert.GreaterOrEqual(t, got.Hi, exact.Hi)
				assert.InEpsilon(t, exact.Hi-exact.Lo, got.Hi-got.Lo, 0.25, "cell %d", k)
			}
		}
		t.Logf("spread %v: %d of %d early", spread, early, cells)
		assert.Greater(t, early, cells/2)
	}
}

// counted counts what is drawn from a source.
type counted struct {
	rand.Source
	draws int
}

func (c *counted) Uint64() uint64 {
	c.draws++
	return c.Source.Uint64()
}

// What the totals of a cell cost does not grow with the number of cells that share α, whether the cells are equal or all differ, by times that
// are spread as those of short programs.
func TestDrawsOfManyCells(t *testing.T) {
	const looked = 40
	for name, effect := range map[string]float64{"equal": 1, "different": 1.3} {
		draws := func(cells int) (sum int) {
			alpha := totalShare * 0.05 / float64(cells+1) * lookShare(1)
			pairs := int((tailFlips + 1) / alpha)
			for k := range looked {
				values := rand.New(rand.NewPCG(uint64(k), 7))
				var f flips
				for range FirstLook {
					f.add(effect*math.Exp(0.05*values.NormFloat64()), math.Exp(0.05*values.NormFloat64()))
				}
				source := counted{Source: rand.NewPCG(uint64(k), 8)}
				f.draw(&source, pairs, alpha, Design{Margin: 0.02}.compared(Effect{Lo: effect - 0.002, Hi: effect + 0.002}))
				sum += source.draws
			}
			return sum / looked
		}
		few, many := draws(8), draws(512)
		t.Logf("%s: %d of 8 cells, %d of 512", name, few, many)
		assert.Less(t, float64(many), 1.2*float64(few), name)
	}
}

// Three rounds bound nothing, whatever α is: this is known after few flips.
func TestEarlyEndsOfFewRounds(t *testing.T) {
	f := flipsOf([]float64{1, 2, 3}, []float64{1, 1, 1})
	assert.Equal(t, Effect{Hi: math.MaxFloat64}, gridFor(0.02).outward(f.ends(1e-12, &compared{low: []float64{1}, high: []float64{1}})))
}
