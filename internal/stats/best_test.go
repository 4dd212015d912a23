package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The bettors of a contest begin as those of its design do, and share its α.
func TestContestOfOldRules(t *testing.T) {
	for even, begin := range map[bool]purse{true: evenly, false: boldly} {
		d := design(1, 3)
		d.Best, d.Even = true, even
		assert.Equal(t, begin, newRace(t, d).contest.pair(1, 2).begin)
	}
	for untied, pairs := range map[bool]float64{true: 4, false: 10} {
		d := design(1, 5)
		d.Best, d.Untied = true, untied
		assert.InEpsilon(t, 2*pairs/d.Alpha, newRace(t, d).contest.pair(1, 2).lower.limit, 1e-12)
	}
}

// contestOf runs a contest until it is over, or for a number of rounds. draw returns the seconds of a cell's sample; the control's are
// those of the baseline.
func contestOf(t testing.TB, seed uint64, cells, rounds int, draw func(cell int) float64) (*Judge, Best) {
	t.Helper()
	d := design(seed, cells)
	d.Until = Until{Best: true}
	r := newRace(t, d)
	for !r.Done() && r.Rounds() < rounds {
		round := r.Next()
		var seconds []float64
		for _, block := range round {
			for _, cell := range block {
				if cell == r.Control() {
					cell = d.Baseline
				}
				seconds = append(seconds, draw(cell))
			}
		}
		require.NoError(t, r.Add(round, seconds))
	}
	return r, r.Best()
}

// A cell is seldom left out because of one that is not better, and what is called the best is seldom worse than another by more than the
// margin: on each recording of equal work, for cells of 1, 2 and 5 times the spread of the baseline, and with many cells. They are equal or differ.
func TestBestIsSeldomWrong(t *testing.T) {
	withReplays(t, 5, 400, func(t *testing.T, replays int) {
		const rounds = 100
		wrong := func(b Best, ratios []float64) bool {
			for cell, than := range b.Out {
				if ratios[cell] <= ratios[than] {
					return true
				}
			}
			return b.Winner >= 0 && ratios[b.Winner] > slices.Min(ratios)*1.02
		}
		type contest struct {
			name  string
			cells int
			times func(replay int) func(other bool) float64 // as noise.Of
		}
		contests := []contest{{"many", 20, ofSpread(1)}, {"very many", 60, ofSpread(1)}}
		for _, spread := range []float64{1, 2, 5} {
			contests = append(contests, contest{fmt.Sprint("normal, spread ", spread), 6, ofSpread(spread)})
			for _, of := range equalWork(t, replays) {
				contests = append(contests, contest{fmt.Sprint(of.Name, ", spread ", spread), 6, func(replay int) func(bool) float64 {
					return of.Replay(replay, replays, spread).Of
				}})
			}
		}
		families, all := 0, 0
		for _, c := range contests {
			for _, equal := range []bool{false, true} {
				over, sum := 0, 0
				found := count(replays, func(k int) bool {
					ratios, random := make([]float64, c.cells), rand.New(rand.NewPCG(uint64(k), 7))
					for i := range ratios {
						if ratios[i] = 1; !equal {
							ratios[i] = 0.93 + 0.15*random.Float64()
						}
					}
					times := c.times(k)
					r, b := contestOf(t, uint64(k), c.cells, rounds, func(cell int) float64 { return ratios[cell] * times(cell > 0) })
					sum += r.Rounds()
					if b.Winner >= 0 {
						over++
					}
					return wrong(b, ratios)
				})
				t.Logf("%-22s equal %-5v: %d of %d wrong, %d found, %d rounds on average", c.name, equal, found, replays, over, sum/replays)
				assert.LessOrEqual(t, found, most(replays), "%s, equal: %v", c.name, equal)
				families, all = families+found, all+replays
			}
		}
		assert.LessOrEqual(t, families, most(all))
	})
}

// ofSpread draws symmetric noise on logarithms; that of cells other than the baseline has a multiple of its spread.
func ofSpread(multiple float64) func(replay int) func(other bool) float64 {
	return func(replay int) func(bool) float64 {
		source := rand.New(rand.NewPCG(uint64(replay), 8))
		return func(other bool) float64 {
			spread := 0.01
			if other {
				spread *= multiple
			}
			return math.Exp(spread * source.NormFloat64())
		}
	}
}

// Cells leave as soon as they cannot be the best. The baseline leaves too, and its duplicate with it.
func TestBestLeaves(t *testing.T) {
	for _, c := range []struct {
		times  []float64
		winner int
		left   []int
	}{
		{[]float64{1, 0.5, 2, 0.7}, 1, []int{1}},
		{[]float64{1, 2, 3, 4}, 0, []int{0}},
		{[]float64{1, 0.5, 0.501, 2}, 1, []int{1, 2}},
	} {
		t.Run(fmt.Sprint(c.times), func(t *testing.T) {
			source := rand.New(rand.NewPCG(1, 1))
			r, b := contestOf(t, 3, len(c.times), 1000, func(cell int) float64 { return c.times[cell] * math.Exp(0.002*source.NormFloat64()) })
			require.True(t, r.Done())
			assert.Equal(t, c.left, b.Left)
			if len(c.left) == 1 {
				assert.Equal(t, c.winner, b.Winner)
			} else {
				assert.Contains(t, c.left, b.Winner)
			}
			for cell := range c.times {
				_, out := b.Out[cell]
				assert.NotEqual(t, out, cell == c.winner || len(c.left) > 1 && cell == c.left[1])
			}
			if c.winner > 0 && len(c.left) > 1 {
				assert.NotContains(t, r.Next()[0], r.Control())
			}
		})
	}
	alone := newContest(design(1, 2))
	assert.Equal(t, -1, alone.best(map[int]bool{1: true}, 1).Winner, "the other cell could not be run")
	for _, times := range []map[int]float64{{0: 1, 1: 1.6}, {0: 1.6, 1: 1}} {
		apart := newContest(design(1, 2))
		for range 40 {
			apart.add(times, math.NaN(), true, 1.7)
		}
		assert.Empty(t, apart.out, "the baseline differs from its duplicate by more")
		apart.add(times, math.NaN(), true, 1.5)
		assert.Len(t, apart.out, 1)
	}
	equal := newContest(design(1, 2))
	for range 40 {
		equal.add(map[int]float64{0: 1, 1: 1}, math.NaN(), true, 1)
	}
	assert.GreaterOrEqual(t, equal.best(nil, 1.01).Winner, 0)
	assert.Equal(t, -1, equal.best(nil, 1.03).Winner, "one may be better by more than the margin")
	circle := newContest(design(1, 3))
	for range 40 {
		circle.add(map[int]float64{0: 1, 1: 2}, math.NaN(), true, 1)
		circle.add(map[int]float64{1: 1, 2: 2}, math.NaN(), true, 1)
		circle.add(map[int]float64{2: 1, 0: 2}, math.NaN(), true, 1)
	}
	assert.Equal(t, Best{Winner: -1, Out: map[int]int{1: 0, 2: 1, 0: 2}}, circle.best(nil, 1))
}
