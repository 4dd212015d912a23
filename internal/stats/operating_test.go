package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The operating characteristics, by replaying recorded noise. Seeds are fixed: a failure is a change of the method.

// Equal cells: few runs have a verdict that a cell differs, and most cells are found to be the same.
func TestEqualCells(t *testing.T) {
	withReplays(t, 60, 200, func(t *testing.T, replays int) {
		const cells = 8
		all := traces(t, "*.seq?.*.csv")
		same, judged := 0, 0
		wrong := count(replays, func(k int) bool {
			r := newRace(t, design(uint64(k), cells))
			run(t, r, start(all, k, replays), equal(cells), 60)
			verdicts := r.Verdicts(0)[1:]
			judged += len(verdicts)
			same += count(len(verdicts), func(i int) bool { return verdicts[i].Kind == Same })
			return slices.ContainsFunc(verdicts, claims)
		})
		t.Logf("%d of %d runs of %d equal cells wrong; %d of %d cells judged the same", wrong, replays, cells, same, judged)
		assert.LessOrEqual(t, wrong*100, 2*replays)
		assert.GreaterOrEqual(t, same, judged*70/100)
	})
}

// A run that ends when each cell is answered is seldom wrong: at its end, the intervals of all cells and of the control hold the truth. The cells
// are equal or differ, and have 1, 2 and 5 times the spread of the baseline. A great spread makes the mean longer than the typical time, by
// few samples that may not have come yet: the total's interval is wrong if it leaves out all from the typical ratio to that of the means. The
// end of the run is no look at the total.
func TestAnswersAreSeldomWrong(t *testing.T) {
	withReplays(t, 4, 400, func(t *testing.T, replays int) {
		const rounds = 100
		families, all := 0, 0
		for name, ratios := range map[string][]float64{"equal": equal(6), "half differ": {1, 1, 1, 1.02, 1.2, 5}} {
			for _, spread := range []float64{1, 2, 5} {
				for _, of := range equalWork(t, replays) {
					ended := 0
					wrong := count(replays, func(k int) bool {
						r, n := newRace(t, design(uint64(k), len(ratios))), of.Replay(k, replays, spread)
						for !r.Done() && r.Rounds() < rounds {
							runRound(t, r, n, ratios)
						}
						if r.Done() {
							ended++
						}
						missed := false
						for cell, c := range r.comparisons {
							if cell == r.design.Baseline {
								continue
							}
							typical, mean := 1.0, 1.0
							if cell != r.Control() {
								typical, mean = ratios[cell], ratios[cell]*n.Mean()
							}
							total := c.total.interval
							missed = missed || !c.typical.ends().holds(typical) || total.Lo > mean || total.Hi < typical
							assert.Equal(t, c.total.sums.rounds < FirstLook, c.total.looks == 0)
						}
						return missed
					})
					t.Logf("%-11s spread %v  %-12s %d of %d wrong, %d ended", name, spread, of.Name, wrong, replays, ended)
					assert.LessOrEqual(t, wrong, most(replays), "%s, spread %v, %s", name, spread, of.Name)
					families, all = families+wrong, all+replays
				}
			}
		}
		assert.LessOrEqual(t, families, most(all))
	})
}

// A true difference is found within the budget. In the natural noise, nearly all misses are in one recording of the
// twelve, nat.sequ.1: there, two samples of the same work differ by 16% in the median.
func TestPower(t *testing.T) {
	withReplays(t, 60, 120, func(t *testing.T, replays int) {
		for _, c := range []struct {
			traces string
			cells  int
			ratio  float64
			budget float64 // seconds of samples
			found  int     // per cent, at least
		}{
			{"nat.seq?.*.csv", 2, 1.02, 10, 78},
			{"nat.seq?.*.csv", 2, 1.02, 60, 90},
			{"nat.seq?.*.csv", 6, 1.02, 80, 90},
			{"nat.seq?.*.csv", 6, 1.05, 40, 90},
			{"nat.seq?.*.csv", 6, 1 / 1.05, 40, 90},
			{"hog.seq?.*.csv", 2, 1.02, 60, 80},
		} {
			all := traces(t, c.traces)
			rounds := 0
			found := count(replays, func(k int) bool {
				ratios, cell := equal(c.cells), 1+k%(c.cells-1)
				ratios[cell] = c.ratio
				r := newRace(t, design(uint64(k), c.cells))
				run(t, r, start(all, k, replays), ratios, c.budget)
				v := r.Verdicts(0)[cell]
				rounds += v.Rounds
				return v.Kind == Slower && c.ratio > 1 || v.Kind == Faster && c.ratio < 1
			})
			t.Logf("%s: ratio %.3f among %d cells in %.0f s: found in %.1f%%, after %d rounds on average",
				c.traces, c.ratio, c.cells, c.budget, 100*float64(found)/float64(replays), rounds/replays)
			assert.GreaterOrEqual(t, found*100, c.found*replays, "%+v", c)
		}
	})
}

// Two per cent more work, really done and recorded in 150 pairs: all intervals hold it, no sign is wrong, and it is
// found except in the two recordings of a machine under load.
func TestRecordedTwoPercent(t *testing.T) {
	found, all := 0, recordings(t, "*.ab2.*.csv")
	for _, recording := range all {
		s := newSequence(0.04, gridFor(0.02))
		for _, p := range labelled(recording) {
			s.add(math.Log(p[1].wall/p[0].wall), math.NaN())
		}
		e := s.ends()
		t.Logf("%.4f [%.3f, %.3f] in %d rounds", s.ratio(), e.Lo, e.Hi, len(s.rounds))
		assert.True(t, e.holds(1.02))
		if e.Lo > 1 {
			found++
		}
	}
	assert.GreaterOrEqual(t, found, len(all)-2)
}

// All intervals of a run hold their truths at once, including those of totals and control, at any time of stopping.
func TestCoverage(t *testing.T) {
	withReplays(t, 60, 200, func(t *testing.T, replays int) {
		asBuilt := func(r *Judge, e Effect) Effect { return e }
		for _, precision := range []float64{0.02, 0.1} {
			covered := coverage(t, replays, precision, asBuilt)
			t.Logf("precision %v: %d of %d runs covered", precision, covered, replays)
			assert.GreaterOrEqual(t, covered*100, 95*replays)
		}
	})
}

// coverage returns the number of runs in which all intervals hold their truths.
func coverage(t *testing.T, replays int, precision float64, interval func(*Judge, Effect) Effect) (covered int) {
	const cells = 6
	all := traces(t, "*.seq?.*.csv")
	return count(replays, func(k int) bool {
		ratios := append(drawn(uint64(k), cells), 1)
		d := design(uint64(k), cells)
		d.Precision, d.Margin = precision, precision
		r := newRace(t, d)
		run(t, r, start(all, k, replays), ratios, 60)
		for cell, c := range r.comparisons {
			if cell != d.Baseline && !(interval(r, c.effect()).holds(ratios[cell]) && c.total.interval.holds(ratios[cell])) {
				return false
			}
		}
		return true
	})
}

// forecasts counts how forecasts turned out.
type forecasts struct {
	decided, given int // comparisons decided within foreseen times the rounds, and how many of them had a forecast
	numbers        int
	enough         int // forecasts that were enough
	fair           int // forecasts that were at most ten times too great, or not enough
}

// Most comparisons that are decided later have a forecast, which is enough in most cases and far too great in few.
// Where two samples of the same work differ by 10% and more (mem), a small measured difference is mostly chance, and a
// forecast based on it is seldom enough.
func TestMoreRounds(t *testing.T) {
	withReplays(t, 2, 7, func(t *testing.T, replays int) { // of each seven
		all, number := forecasts{}, 0
		for _, kind := range []string{"nat.seqp", "nat.sequ", "hog.seqp", "hog.sequ", "nat.mem", "hog.mem"} {
			for _, seconds := range traces(t, kind+".*.csv") {
				for k := range 2 {
					for _, ratios := range [][]float64{{1, 1, 1.01, 1.02, 0.985, 1.03}, {1, 1.015}, {1, 1.03}, {1, 1.1}} {
						for _, at := range []int{12, 25, 50} {
							if number++; number%7 >= replays {
								continue
							}
							d := design(uint64(k), len(ratios))
							d.Comparisons = 2 * len(ratios) // of two figures
							n := &noise{seconds: seconds, at: k * len(seconds) / 2}
							all.follow(t, newRace(t, d), n, ratios, at)
						}
					}
				}
			}
			t.Logf("with %s: %+v", kind, all)
		}
		chance := 0 // per cent
		if replays < 7 {
			chance = 10
		}
		assert.GreaterOrEqual(t, 100*all.given, (66-chance)*all.decided)
		assert.GreaterOrEqual(t, 100*all.enough, (70-chance)*all.numbers)
		assert.LessOrEqual(t, 100*all.enough, 90*all.numbers)
		assert.GreaterOrEqual(t, 100*all.fair, (95-chance)*all.numbers)
	})
}

// follow takes the given number of rounds, and then more until it is clear whether the forecasts were right.
func (f *forecasts) follow(t *testing.T, r *Judge, n *noise, ratios []float64, at int) {
	for range at {
		if !r.Done() {
			runRound(t, r, n, ratios)
		}
	}
	open := map[int]int{} // rounds that are forecast, by cell; 0: no forecast
	for cell, v := range r.Verdicts(0) {
		if v.Kind == CantTell && v.Forecast != nil && v.Forecast.Kind != FirstInterval {
			open[cell] = v.MoreRounds
			if v.MoreRounds > 0 {
				f.numbers++
			}
		}
	}
	for more := 1; more <= (foreseen-1)*at && len(open) > 0 && !r.Done(); more++ {
		runRound(t, r, n, ratios)
		for cell, rounds := range open {
			c := r.comparisons[cell]
			kind := r.measured(c).Kind // Verdicts would forecast anew each time
			if r.unsound() || kind == CantTell || kind == Same && (r.doubtful(c) || !r.controlled()) {
				continue
			}
			f.decided++
			if rounds > 0 {
				f.given++
			}
			if rounds >= more {
				f.enough++
			}
			if rounds > 0 && rounds <= 10*more {
				f.fair++
			}
			delete(open, cell)
		}
	}
	for _, rounds := range open {
		if rounds > 0 {
			f.fair++ // not decided: it was not too great
		}
	}
}
