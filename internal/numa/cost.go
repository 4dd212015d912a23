package numa

import (
	"fmt"
	"math"
	"slices"

	"gorun/internal/result"
	"gorun/internal/stats"
)

// MoveCost returns the percentage of the samples' median time by which each move to another node lengthened a sample,
// with its 95% confidence interval. The samples are of one row; those that are partial, invalid, or have lost moves do
// not count. If too few are left, or all moved about equally often, ok is false.
func MoveCost(samples []result.Sample) (percentPerMove, lo, hi float64, ok bool) {
	moves, seconds := movesAndSeconds(samples)
	slope, lo, hi, ok := theilSen(moves, seconds)
	median := result.Distribute(seconds).Median
	if !ok || median <= 0 {
		return 0, 0, 0, false
	}
	return 100 * slope / median, 100 * lo / median, 100 * hi / median, true
}

// CostFinding returns the finding on the cost of moves between nodes in a row, with the row's displayed name.
func CostFinding(row string, samples []result.Sample) (result.Finding, bool) {
	each, lo, hi, ok := MoveCost(samples)
	if !ok {
		return result.Finding{}, false
	}
	moves, _ := movesAndSeconds(samples)
	typical := result.Distribute(moves).Median
	f := result.Finding{Code: "cross-node-cost", Value: each * typical}
	if lo <= 0 && hi >= 0 {
		f.Message = fmt.Sprintf("%s: a sample moved to another node %.0f times; the cost is within the noise "+
			"(%+.1f%% to %+.1f%% of its time).", row, typical, lo*typical, hi*typical)
		return f, true
	}
	f.Message = fmt.Sprintf("%s: a sample moved to another node %.0f times, which cost %.1f%% of its time (%.1f%% to "+
		"%.1f%%; samples with more moves against samples with fewer).", row, typical, f.Value, lo*typical, hi*typical)
	return f, true
}

func movesAndSeconds(samples []result.Sample) (moves, seconds []float64) {
	for _, s := range samples {
		v, ok := result.Typed[result.Numa](&s)
		if s.Partial || s.Quality.Verdict == result.Invalid || !ok || v.Migrations == nil || v.Migrations.Lost > 0 {
			continue
		}
		moves, seconds = append(moves, float64(v.Migrations.CrossNode)), append(seconds, s.Seconds)
	}
	return moves, seconds
}

// theilSen returns the median of the slopes between all pairs of points, and its 95% interval: the slopes for which
// Kendall's test finds no trend in the residuals of y (Sen, "Estimates of the regression coefficient based on Kendall's
// tau", Journal of the American Statistical Association 63, 1968). It assumes only that the noise has the same
// distribution everywhere, and is robust against a few outliers. ok is false if the interval is unbounded.
func theilSen(x, y []float64) (slope, lo, hi float64, ok bool) {
	var slopes []float64
	for i := range x {
		for j := range i {
			if x[i] != x[j] {
				slopes = append(slopes, (y[i]-y[j])/(x[i]-x[j]))
			}
		}
	}
	const z = 1.959964 // of the normal distribution, for 95%
	pairs := float64(len(slopes))
	reach := z * math.Sqrt(kendallVariance(x))
	first := int(math.Floor((pairs-reach)/2)) - 1 // counted from 0, outwards
	if first < 0 {
		return 0, 0, 0, false
	}
	slices.Sort(slopes)
	return stats.Median(slopes), slopes[first], slopes[len(slopes)-1-first], true
}

// kendallVariance returns the variance of Kendall's sum of signs for x with ties.
func kendallVariance(x []float64) float64 {
	times := map[float64]float64{}
	for _, value := range x {
		times[value]++
	}
	term := func(n float64) float64 { return n * (n - 1) * (2*n + 5) }
	variance := term(float64(len(x)))
	for _, n := range times {
		variance -= term(n)
	}
	return variance / 18
}
