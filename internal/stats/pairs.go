package stats

import (
	"math"
	"slices"
)

// PairedSamples judges a cell against the baseline where the number of samples was fixed in advance and there is no control.
// Samples with the same index are a pair: they were taken one after the other, in random order. The design's
// comparisons share its error rate.
// With a fixed number, the interval does not have to hold at every time of stopping, and few pairs could not afford
// that: ten never bound a sequence. The typical ratio has the interval that belongs to the Hodges-Lehmann estimate: it
// inverts the signed-rank test, which a random order makes exact, since each log ratio is as likely above the true
// ratio as below (Hollander and Wolfe, Nonparametric Statistical Methods, 3.4). Six pairs are enough for a verdict at
// 5%. The interval of the totals is that of a single look.
// No control guards this verdict: it would not show that the method finds a difference where there is none, for example
// because the order itself matters. The verdict does not hold if pairs are taken until something is found.
func PairedSamples(cell, base []float64, d Design) Verdict {
	v := d.open(len(cell))
	if len(cell) == 0 {
		return v
	}
	logs := make([]float64, len(cell))
	for i := range cell {
		logs[i] = math.Log(cell[i] / base[i])
	}
	slices.Sort(logs)
	v.Typical = signedRankEffect(logs, (1-totalShare)*d.alpha(), d.grid())
	total := totals{sums: flipsOf(cell, base)}
	total.interval = d.grid().outward(total.sums.ends(totalShare*d.alpha(), d.compared(v.Typical)))
	v.Total = new(total.effect())
	v.Kind = v.judged()
	switch {
	case v.Kind == Same && total.differs(d.Margin):
		v.Kind, v.Reason = CantTell, v.uncertainTotal(v.Total.Ratio)
		v.Forecast = v.Total.forecast(safety*pairsNeeded(*v.Total, d.Margin, v.Rounds), v.Rounds)
	case v.Kind == CantTell:
		v.Forecast = v.Typical.forecast(safety*pairsNeeded(v.Typical, d.Margin, v.Rounds), v.Rounds)
	}
	return v.Taking(0)
}

// signedRankEffect returns the Hodges-Lehmann estimate of sorted log ratios and its interval, rounded outward: from the
// depth-th smallest of all means of two to the depth-th greatest. Too few log ratios bound nothing.
func signedRankEffect(logs []float64, alpha float64, g grid) Effect {
	e := Effect{Ratio: math.Exp(hodgesLehmann(logs)), Hi: math.MaxFloat64}
	means := len(logs) * (len(logs) + 1) / 2
	if depth := signedRankDepth(len(logs), alpha/2); depth > 0 {
		e.Lo = math.Exp(smallestSum(logs, depth) / 2)
		e.Hi = math.Exp(smallestSum(logs, means+1-depth) / 2)
	}
	return g.outward(e)
}

// signedRankDepth returns the greatest depth for which, with a probability of at most alpha, fewer than depth of the
// means of two of n values lie beyond their true centre: their number is distributed as the sum of a random subset of
// 1…n (Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1, 1945). It takes O(n³).
func signedRankDepth(n int, alpha float64) int {
	chance := make([]float64, n*(n+1)/4+1) // by sum; the upper half mirrors this one
	chance[0] = 1
	for rank := 1; rank <= n; rank++ {
		for s := len(chance) - 1; s >= 0; s-- {
			chance[s] /= 2
			if s >= rank {
				chance[s] += chance[s-rank] / 2
			}
		}
	}
	depth := 0
	for below := chance[0]; below <= alpha && depth < len(chance)-1; below += chance[depth] {
		depth++
	}
	return depth
}

// pairsNeeded estimates how many more pairs a verdict needs if the ratio stays as it is: until the interval leaves out
// 1 or lies within the margin. Widths fall with the square root of the number of pairs. It is infinite where nothing
// bounds the interval yet.
func pairsNeeded(e Effect, margin float64, pairs int) float64 {
	if !e.Bounded() {
		return math.Inf(1)
	}
	effect := math.Abs(math.Log(e.Ratio))
	narrower := math.Log(e.Hi/e.Lo) / 2 / max(effect, math.Log1p(margin)-effect)
	return max(1, float64(pairs)*(narrower*narrower-1))
}
