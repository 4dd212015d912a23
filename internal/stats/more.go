package stats

import "math"

// spare is by how many more rounds are announced than the estimate says: what is announced is to be enough in four of
// five cases, and the estimate is right in half of them.
const spare = 1.25

// toTell is how many more rounds a verdict is likely to need: until the interval leaves out 1 or lies within the
// margin, whichever comes first; infinite where the rounds so far speak for neither.
func (s *sequence) toTell(margin float64) float64 {
	return min(s.toRuleOut(&s.lower, s.lower.grid.index(1)+1), s.toRuleOut(&s.upper, s.upper.grid.index(1)-1),
		s.toNarrow(1, margin))
}

// toNarrow is how many more it takes until the interval lies within ± margin of a ratio.
func (s *sequence) toNarrow(ratio, margin float64) float64 {
	g := s.lower.grid
	return max(s.toRuleOut(&s.lower, g.index(ratio-margin)), s.toRuleOut(&s.upper, g.index(ratio+margin)))
}

// toRuleOut is how many more rounds, if they are like those before, a bettor needs to rule out the ratio of index i:
// the wealth on each stake goes on growing at its mean rate, and the first stake that brings enough ends it.
func (s *sequence) toRuleOut(b *bettor, i int) float64 {
	if (b.next-i)*b.toward > 0 {
		return 0
	}
	rounds := float64(len(s.d) - warmRounds)
	need := math.Inf(1)
	for _, wealth := range s.replay(b, i) {
		if rate := math.Log(wealth) / rounds; rounds > 0 && rate > 0 {
			need = min(need, math.Log(s.limit*float64(len(stakes)))/rate-rounds)
		}
	}
	return max(1, need)
}

// toDiffer is how many more rounds it takes until the interval of the total leaves out 1, if the means are as they
// seem: the next look, or the one for which it is narrow enough by the law that widths fall with the square root of the
// rounds.
func (t *totals) toDiffer() float64 {
	rounds := float64(len(t.cell))
	need := float64(t.nextAt) - rounds
	if t.lo > 0 && t.hi < math.MaxFloat64 {
		ratio := math.Log(t.hi/t.lo) / 2 / math.Log(t.ratio())
		need = max(need, rounds*(ratio*ratio-1))
	}
	return need
}

// announced is an estimate as it is told: with some to spare, and one or two digits, lest it look exact. It is 0 when
// nothing is known, as beyond a million rounds.
func announced(rounds float64) int {
	n := rounds * spare
	if n > 1e6 {
		return 0
	}
	unit := math.Pow10(max(0, int(math.Floor(math.Log10(n/2)))))
	return int(math.Ceil(n/unit) * unit)
}
