package stats

import (
	"math"
	"slices"
)

// Pair is the typical ratio of cell B to cell A. P is adjusted for all pairs of the run: differences with P of at most
// α are all real, but for a probability of α that any is not.
type Pair struct {
	A     int     `json:"a"`
	B     int     `json:"b"`
	Ratio float64 `json:"ratio"`
	P     float64 `json:"p"`
}

// Pairs compares all cells with one another, not with the baseline alone; the rounds that both cells took count.
func (r *Race) Pairs() []Pair {
	var pairs []Pair
	var p []float64
	for b := range r.design.Cells {
		for a := range b {
			s := r.pair(a, b)
			pairs = append(pairs, Pair{A: a, B: b, Ratio: s.ratio()})
			p = append(p, s.p())
		}
	}
	for i, adjusted := range holm(p) {
		pairs[i].P = adjusted
	}
	return pairs
}

// pair is the sequence of b's log ratios to a.
func (r *Race) pair(a, b int) *sequence {
	if a == r.design.Baseline {
		return r.comparisons[b].typical
	}
	s := newSequence(r.design.Alpha, r.grid)
	if b == r.design.Baseline {
		for _, d := range r.comparisons[a].typical.d {
			s.add(-d)
		}
		return s
	}
	first, second := r.comparisons[a].total.cell, r.comparisons[b].total.cell
	for i := range min(len(first), len(second)) {
		s.add(math.Log(second[i] / first[i]))
	}
	return s
}

// holm adjusts the p-values of several comparisons so that calling those of at most α real has a probability of α at
// most of any false call (Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
// Statistics 6, 1979). The order is kept.
func holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case p[i] < p[j]:
			return -1
		case p[i] > p[j]:
			return 1
		}
		return 0
	})
	adjusted := make([]float64, len(p))
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = highest
	}
	return adjusted
}
