package stats_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/judge/matrix"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// gated returns a run of three cells that ends when a condition of --fail-on is answered, or after a number of rounds. times returns the seconds
// of a sample: of the baseline or its duplicate, or of another cell.
func gated(t *testing.T, seed uint64, condition string, rounds int, times func(other bool) float64) *result.Run {
	t.Helper()
	run := &result.Run{Seed: seed, Matrix: &result.Matrix{
		Rules: matrix.Rules, Alpha: 0.05, Margin: 0.02, Precision: 0.02, Enough: result.EnoughAnswer, FailOn: condition,
	}}
	for i := range 3 {
		run.Cells = append(run.Cells, result.Cell{Name: fmt.Sprint("cell ", i), Flags: map[string]string{"cell": fmt.Sprint(i)}})
	}
	judging, err := matrix.NewJudging(run, column.Common())
	require.NoError(t, err)
	for !judging.Done() && judging.Rounds() < rounds {
		slot := judging.Next()
		s := result.Sample{Index: run.Samples.Len(), Slot: &slot, Seconds: times(slot.Cell != 0), Quality: result.Quality{Grade: result.Valid}}
		run.Samples.Append(&s)
		require.NoError(t, judging.Add(s))
	}
	judging.Judge()
	var failOn matrix.FailOn
	require.NoError(t, failOn.Set(condition))
	run.Gate = failOn.Gate(run)
	return run
}

// A run that ends when --fail-on is answered is seldom wrong, for cells of 1, 2 and 5 times the spread of the baseline: the gate seldom fails
// without a difference beyond what it names, and seldom passes with one. Where a great spread makes the mean longer than the typical
// time, it may fail by the mean.
func TestGatesAreSeldomWrong(t *testing.T) {
	stats.WithReplays(t, 3, 400, func(t *testing.T, replays int) {
		const rounds = 100
		families, all := 0, 0
		for _, c := range []struct {
			condition string
			ratio     float64
			pass      bool // whether that is right
		}{{"worse", 1, true}, {"worse", 1.021, false}, {"worse>5%", 1.05, true}, {"worse>5%", 1.051, false}} {
			for _, spread := range []float64{1, 2, 5} {
				for _, of := range stats.EqualWork(t, replays) {
					results, wrong, sum := map[string]int{}, 0, 0
					for k := range replays {
						n := of.Replay(k, replays, spread)
						run := gated(t, uint64(k), c.condition, rounds, func(other bool) float64 {
							if other {
								return c.ratio * n.Of(true)
							}
							return n.Of(false)
						})
						results[run.Gate.Result]++
						sum += run.Gate.Rounds
						passed, failed := run.Gate.Result == result.GatePassed, run.Gate.Result == result.GateFailed
						if passed && !c.pass || failed && c.pass && overclaimed(run, c.ratio, c.ratio*n.Mean()) {
							wrong++
						}
					}
					t.Logf("%-8s ratio %.3f, spread %v  %-12s %d of %d wrong; %v, %d rounds on average",
						c.condition, c.ratio, spread, of.Name, wrong, replays, results, sum/replays)
					assert.LessOrEqual(t, wrong, stats.Most(replays), "%+v, spread %v, %s", c, spread, of.Name)
					families, all = families+wrong, all+replays
				}
			}
		}
		assert.LessOrEqual(t, families, stats.Most(all))
	})
}

// overclaimed reports whether a cell is claimed to take longer than it does, typically or in its mean.
func overclaimed(run *result.Run, typical, mean float64) bool {
	return slices.ContainsFunc(run.Cells[1:], func(cell result.Cell) bool {
		total := cell.Verdict.Total
		return cell.Verdict.Typical.Lo > typical || total != nil && total.Lo > mean
	})
}
