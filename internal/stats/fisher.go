package stats

import "github.com/aclements/go-moremath/stats"

// Fisher returns the p-value of Fisher's exact test, two-sided, that two shares differ: a of n against b of m.
func Fisher(a, n, b, m int) float64 {
	d := stats.HypergeometicDist{N: n + m, K: a + b, Draws: n}
	const rounding = 1 + 1e-7 // of probabilities that are equal
	limit := d.PMF(float64(a)) * rounding
	sum := 0.0
	for k := max(0, a+b-m); k <= min(n, a+b); k++ {
		if p := d.PMF(float64(k)); p <= limit {
			sum += p
		}
	}
	return min(1, sum)
}
