package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Methods that are wrong on purpose. Each fails a check that the right one passes: the checks can fail.

// Equal cells whose samples are taken cell by cell, as most tools do, differ by what the machine did between them.
func TestBlockedOrder(t *testing.T) {
	const replays, cells, rounds = 40, 4, 80
	all := traces(t, "*.seq?.*.csv")
	wrong := func(blocked bool) int {
		return count(replays, func(k int) bool {
			d := design(uint64(k), cells)
			d.Rounds = rounds
			r := newRace(t, d)
			n := start(all, k, replays)
			for !r.Done() {
				if !blocked {
					runRound(t, r, n, nil)
					continue
				}
				round := Round{{0, 1, 2, 3, r.Control()}}
				var samples []float64
				for place := range round[0] {
					at := n.at + place*rounds + r.Rounds()
					samples = append(samples, n.seconds[at%len(n.seconds)])
				}
				require.NoError(t, r.Add(round, samples))
			}
			return uncontrolled(r)
		})
	}
	random, blocked := wrong(false), wrong(true)
	t.Logf("false: %d in random order, %d in blocks, of %d", random, blocked, replays)
	assert.LessOrEqual(t, random*100, 5*replays)
	assert.Greater(t, blocked*100, 5*replays)
}

// Noise with a period of two samples falls on the same cells in each round when the order is fixed. The control shows
// it.
func TestPeriodTwo(t *testing.T) {
	withReplays(t, 60, 200, func(t *testing.T, replays int) {
		const cells, rounds = 3, 60
		all := traces(t, "*.seq?.*.csv")
		wrong := func(fixed bool) (wrong, claimed int) {
			wrong = count(replays, func(k int) bool {
				d := design(uint64(k), cells)
				d.Rounds = rounds
				r := newRace(t, d)
				n := start(all, k, replays)
				for !r.Done() {
					round := r.Next()
					if fixed {
						round = Round{{0, 1, 2, r.Control()}}
					}
					var samples []float64
					for range round.Samples() {
						samples = append(samples, n.next()*(1+0.05*float64(n.at%2)))
					}
					require.NoError(t, r.Add(round, samples))
				}
				if slices.ContainsFunc(r.Verdicts(0), claims) {
					claimed++
				}
				return uncontrolled(r)
			})
			return wrong, claimed
		}
		random, _ := wrong(false)
		alternating, claimed := wrong(true)
		t.Logf("false: %d in random order, %d in alternation, %d of them claimed, of %d", random, alternating, claimed, replays)
		assert.LessOrEqual(t, random*100, 5*replays)
		assert.Greater(t, alternating*100, 5*replays)
		assert.LessOrEqual(t, claimed*100, 5*replays)
	})
}

// uncontrolled reports whether any equal cell seems to differ if the control is ignored.
func uncontrolled(r *Judge) bool {
	return slices.ContainsFunc(r.comparisons[1:r.Control()], comparison.differs)
}

// A test for one look is not valid for many looks.
func TestPeeking(t *testing.T) {
	withReplays(t, 60, 200, func(t *testing.T, replays int) {
		const rounds = 100
		all := traces(t, "*.seq?.*.csv")
		betting := 0
		peeking := count(replays, func(k int) bool {
			d := design(uint64(k), 2)
			d.Rounds = rounds
			r := newRace(t, d)
			n := start(all, k, replays)
			called := false
			for !r.Done() {
				runRound(t, r, n, nil)
				d := r.comparisons[1].typical.sorted.values()
				called = called || len(d) >= 10 && len(d)%5 == 0 && signedRankP(d) < 0.05
			}
			if claims(r.Verdicts(0)[1]) {
				betting++
			}
			return called
		})
		t.Logf("false: %d by betting, %d by peeking, of %d", betting, peeking, replays)
		assert.LessOrEqual(t, betting*100, 5*replays)
		assert.Greater(t, peeking*100, 5*replays)
	})
}

// signedRankP returns the p-value of Wilcoxon's signed-rank test, by the normal approximation.
func signedRankP(d []float64) float64 {
	n := float64(len(d))
	w := 0.0
	for i, a := range d {
		for _, b := range d[:i+1] {
			if a+b > 0 {
				w++
			}
		}
	}
	z := (w - n*(n+1)/4) / math.Sqrt(n*(n+1)*(2*n+1)/24)
	return math.Erfc(math.Abs(z) / math.Sqrt2)
}

// Repeats inside one process share its memory layout: they are one sample.
func TestPooledRepeats(t *testing.T) {
	const replays = 200
	all := recordings(t, "*.mem.*.csv")
	processes := 0
	pooled := count(replays, func(k int) bool {
		recording := all[k%len(all)]
		repeats := 0
		for repeats < len(recording) && recording[repeats].round == 0 {
			repeats++
		}
		source := rand.New(rand.NewPCG(uint64(k), 0))
		byProcess, byRepeat := newSequence(0.04, gridFor(0.02)), newSequence(0.04, gridFor(0.02))
		for p := 0; p+2*repeats <= len(recording); p += 2 * repeats {
			a, b := recording[p:p+repeats], recording[p+repeats:p+2*repeats]
			if source.IntN(2) == 1 {
				a, b = b, a
			}
			sumA, sumB := 0.0, 0.0
			for i := range a {
				byRepeat.add(math.Log(b[i].wall/a[i].wall), math.NaN())
				sumA, sumB = sumA+a[i].wall, sumB+b[i].wall
			}
			byProcess.add(math.Log(sumB/sumA), math.NaN())
		}
		if byProcess.ends().differs() {
			processes++
		}
		return byRepeat.ends().differs()
	})
	t.Logf("false: %d by process, %d pooled, of %d", processes, pooled, replays)
	assert.LessOrEqual(t, processes*100, 5*replays)
	assert.Greater(t, pooled*100, 5*replays)
}

// Nice 10 on a busy CPU does not change the typical sample and doubles the total: the verdict is about both.
func TestStalls(t *testing.T) {
	judged := func(recording []recorded, from int, keep func(recorded) bool) Verdict {
		d := design(1, 2)
		pairs := labelled(recording)
		d.Rounds = len(pairs)
		r := newRace(t, d)
		for _, pair := range slices.Concat(pairs[from:], pairs[:from]) {
			if !keep(pair[0]) || !keep(pair[1]) {
				continue
			}
			// These recordings have no duplicate of the baseline: its own sample takes that place.
			require.NoError(t, r.Add(Round{{0, 1, 2}}, []float64{pair[0].wall, pair[1].wall, pair[0].wall}))
		}
		return r.Verdicts(0)[1]
	}
	reported := func(v Verdict) bool {
		return v.Kind == Slower && v.Total != nil && v.Total.Ratio > 1.5 && v.Typical.within(0.02)
	}
	all := func(recorded) bool { return true }
	clean := func(s recorded) bool { return s.wait < 0.001 }
	heavy := recordings(t, "nice.h1.csv")[0]
	for from := 0; from < 80; from += 16 {
		v := judged(heavy, from, all)
		t.Log(v, *v.Total)
		assert.True(t, reported(v), "%s", v)
		assert.False(t, reported(judged(heavy, from, clean)), "dropping noisy samples")
		medianOnly := Verdict{Kind: v.Typical.kind(v.Margin), Typical: v.Typical}
		assert.False(t, reported(medianOnly), "the median only")

		v = judged(recordings(t, "nice.hog.csv")[0], from, all)
		t.Log(v)
		assert.NotEqual(t, Same, v.Kind, "%s", v)
	}
}

// Rounding ends inward, to ratios that were not ruled out, loses the coverage.
func TestInwardRounding(t *testing.T) {
	withReplays(t, 60, 200, func(t *testing.T, replays int) {
		inward := func(r *Judge, e Effect) Effect {
			step := 1 / float64(r.design.grid())
			return Effect{Ratio: e.Ratio, Lo: e.Lo + step, Hi: e.Hi - step}
		}
		covered := coverage(t, replays, 0.1, inward)
		t.Logf("%d of %d runs covered", covered, replays)
		assert.Less(t, covered*100, 95*replays)
	})
}
