package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sampler draws the logarithms of a sample's time.
type sampler struct {
	name      string
	symmetric bool
	draw      func(*rand.Rand) float64
}

// samplers are noise distributions of about the same size, around 0: symmetric ones, and ones with a long tail.
var samplers = []sampler{
	{"normal", true, func(r *rand.Rand) float64 { return r.NormFloat64() }},
	{"heavy", true, func(r *rand.Rand) float64 { return 0.5 * math.Tan(math.Pi*(r.Float64()-0.5)) }},
	{"exponential", false, func(r *rand.Rand) float64 { return r.ExpFloat64() }},
	{"stalls", false, func(r *rand.Rand) float64 {
		if r.IntN(10) == 0 {
			return r.NormFloat64() + 5*r.ExpFloat64()
		}
		return r.NormFloat64()
	}},
	{"far ends", true, func(r *rand.Rand) float64 { return 0.5 * math.Exp(5*r.Float64()) * float64(2*r.IntN(2)-1) }},
}

// most returns how many of the runs may be wrong at an error rate of 5%: at least three.
func most(runs int) int { return max(5*runs/100, 3) }

// centre returns the logarithm of the ratio that is fair to both sides: the average payoff against it is 1. A bet is
// scaled by the spread of earlier rounds, so the payoffs are averaged over histories of all lengths.
func centre(cell, base func(*rand.Rand) float64) float64 {
	source := rand.New(rand.NewPCG(99, 0))
	var rounds []round
	for range 200 {
		var s sequence
		for range 100 {
			d := cell(source) - base(source)
			if s.sorted.Len() >= scaleRounds && source.IntN(4) == 0 {
				b := cell(source)
				rounds = append(rounds, round{b - base(source), b - base(source), s.sorted.deviation()})
			}
			s.sorted.Add(d)
		}
	}
	lo, hi := -50.0, 50.0
	for range 40 {
		mid, sum := (lo+hi)/2, 0.0
		for _, r := range rounds {
			sum += r.payoff(1, mid) - 1
		}
		if sum > 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// play takes rounds of a cell with the baseline and its duplicate, and reports whether the truth was ruled out at any
// of them. lost reports which blocks are not judged, by the times of the cell, the baseline and the duplicate.
func play(seed, rounds int, truth float64, cell, base func(*rand.Rand) float64, lost func(b, a, c float64) bool) (missed bool) {
	const size = 0.02 // of the noise
	source := rand.New(rand.NewPCG(uint64(seed), 1))
	s := newSequence(0.05, gridFor(0.02))
	for range rounds {
		b, a, c := size*cell(source), size*base(source), size*base(source)
		if lost != nil && lost(b, a, c) {
			continue
		}
		s.add(b-a, b-c)
	}
	return !s.ends().holds(math.Exp(size * truth)) // the ends only move inward: a ratio that was ruled out stays ruled out
}

// A larger spread than the baseline's, which placement often causes, does not lead to false claims, neither with
// symmetric noise nor with a long tail: the typical ratio is ruled out, at any of the rounds, in a share of at most α
// of the runs. A bet on the rank among the three fails this.
func TestUnequalSpreads(t *testing.T) {
	withReplays(t, 150, 300, func(t *testing.T, runs int) {
		const rounds = 150
		for _, shape := range samplers {
			for _, spread := range []float64{1, 2, 5} {
				cell := func(r *rand.Rand) float64 { return spread * shape.draw(r) }
				truth := 0.0
				if !shape.symmetric {
					truth = centre(cell, shape.draw)
				}
				missed := count(runs, func(k int) bool { return play(k, rounds, truth, cell, shape.draw, nil) })
				ranked := count(runs, func(k int) bool {
					return shape.name == "normal" && rankBetClaims(k, rounds, cell, shape.draw)
				})
				t.Logf("%s, spread %v: centre %.3f; missed in %.1f%% of %d runs; by ranks %.1f%%", shape.name, spread, truth,
					100*float64(missed)/float64(runs), runs, 100*float64(ranked)/float64(runs))
				assert.LessOrEqual(t, missed, most(runs), "%s, spread %v", shape.name, spread)
				if shape.name == "normal" && spread > 1 {
					assert.Greater(t, ranked*100, 5*runs, "spread %v", spread)
				}
			}
		}
	})
}

// rankBetClaims is a tempting bet that is wrong: on the cell being the first or the last of the three. It is fair only
// if the three have the same distribution.
func rankBetClaims(seed, rounds int, cell, base func(*rand.Rand) float64) bool {
	source := rand.New(rand.NewPCG(uint64(seed), 1))
	up, down := evenly, evenly
	payoff := func(won bool) float64 {
		if won {
			return 2
		}
		return 0.5
	}
	for range rounds {
		b, a, c := cell(source), base(source), base(source)
		up.bet(payoff(b > max(a, c)))
		down.bet(payoff(b < min(a, c)))
		if max(up.wealth(), down.wealth()) >= 40 {
			return true
		}
	}
	return false
}

// No bet is made on a block with a lost sample. If stalled samples of any cell are lost, there are no more false
// claims; a rule that drops only the cell's samples makes it look faster.
func TestLostSamples(t *testing.T) {
	withReplays(t, 250, 300, func(t *testing.T, runs int) {
		const rounds = 150
		stalls := samplers[3].draw
		stalled := func(x float64) bool { return x > 0.06 }
		any := func(b, a, c float64) bool { return stalled(b) || stalled(a) || stalled(c) }
		onlyCell := func(b, _, _ float64) bool { return stalled(b) }
		blind := count(runs, func(k int) bool { return play(k, rounds, 0, stalls, stalls, any) })
		partial := count(runs, func(k int) bool { return play(k, 10*rounds, 0, stalls, stalls, onlyCell) })
		t.Logf("missed in %.1f%% of %d runs where any stall costs the block, in %.1f%% where the cell's are dropped",
			100*float64(blind)/float64(runs), runs, 100*float64(partial)/float64(runs))
		assert.LessOrEqual(t, blind, most(runs))
		assert.Greater(t, partial*100, 5*runs)
	})
}

// All equal cells of a run and its contrasts share one error rate, at any look, even with unequal spreads.
func TestFamilies(t *testing.T) {
	withReplays(t, 20, 60, func(t *testing.T, runs int) {
		const rounds = 60
		families, all := 0, 0 // wrong ones of all
		for _, shape := range samplers[:2] {
			for _, spread := range []float64{1, 2, 5} {
				wrong := count(runs, func(k int) bool {
					d := design(uint64(k), 6)
					d.Rounds = rounds
					d.Contrasts = []Contrast{{1, 2}, {3, 4}}
					r := newRace(t, d)
					source := rand.New(rand.NewPCG(uint64(k), 2))
					any := false
					for !r.Done() {
						next := r.Next()
						var seconds []float64
						for _, cell := range slices.Concat(next...) {
							size := 0.01
							if cell != r.Control() && cell%2 == 1 {
								size *= spread
							}
							seconds = append(seconds, math.Exp(max(-300, min(300, size*shape.draw(source)))))
						}
						require.NoError(t, r.Add(next, seconds))
						any = any || slices.ContainsFunc(r.all(), func(c comparison) bool { return c.typical.ends().differs() })
					}
					return any
				})
				t.Logf("%s, spread %v: %d of %d families wrong", shape.name, spread, wrong, runs)
				assert.LessOrEqual(t, wrong, most(runs), "%s, spread %v", shape.name, spread)
				families, all = families+wrong, all+runs
			}
		}
		assert.LessOrEqual(t, families, most(all))
	})
}

// The sign flips of the totals assume that cell and baseline are exchangeable up to the ratio. If only the cell's
// spread is greater, they still keep their level.
func TestTotalsOfUnequalSpreads(t *testing.T) {
	withReplays(t, 100, 300, func(t *testing.T, runs int) {
		const alpha, rounds = 0.05, 100
		for name, sample := range map[string]func(*rand.Rand, float64) float64{
			"normal":      func(r *rand.Rand, spread float64) float64 { return 1 + 0.02*spread*r.NormFloat64() },
			"exponential": func(r *rand.Rand, spread float64) float64 { return 1 + 0.05*spread*(r.ExpFloat64()-1) },
		} {
			for _, spread := range []float64{1, 2, 5} {
				missed := count(runs, func(k int) bool {
					source := rand.New(rand.NewPCG(uint64(k), 3))
					total := newTotals(alpha, gridFor(0.02))
					wrong := false
					for range rounds {
						total.add(sample(source, spread), sample(source, 1))
						wrong = wrong || total.interval.differs()
					}
					return wrong
				})
				t.Logf("%s, spread %v: missed in %.1f%% of %d runs", name, spread, 100*float64(missed)/float64(runs), runs)
				assert.LessOrEqual(t, missed, most(runs), "%s, spread %v", name, spread)
			}
		}
	})
}
