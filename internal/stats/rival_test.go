package stats

import (
	"math"
	"slices"
	"sort"
)

// The judge that the bet by averaged pairs took the place of, kept as its rival in the table of rounds (make power).

// rivalStakes are the shares of its wealth that a bettor puts on each round; the wealth is split evenly among them.
var rivalStakes = [...]float64{0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.7, 0.9}

// rivalWarmRounds is the number of rounds before the first bet, which estimate the spread.
const rivalWarmRounds = 3

// rivalSequence is a confidence sequence like sequence, for single pairs: for a ratio r, the score of a round with
// the log ratio d is tanh((d − log r) / s), where s is the deviation of earlier rounds, and the wealth is Π(1 +
// λ·score).
type rivalSequence struct {
	limit  float64   // wealth that rules a ratio out
	d      []float64 // log ratios, in the order of the rounds
	spread []float64 // the scale of each log ratio
	sorted []float64 // d, ascending
	lower  rivalBettor
	upper  rivalBettor
}

// rivalPurse is the wealth of each stake, before it is divided among them.
type rivalPurse [len(rivalStakes)]float64

// rivalBettor follows one end.
type rivalBettor struct {
	grid       grid
	toward     int // +1: bets that the ratio is greater, and moves the lower end up; -1: the reverse
	next       int // index of the ratio to be ruled out next
	rivalPurse rivalPurse
}

// newRivalSequence returns a sequence with an error probability of at most alpha.
func newRivalSequence(alpha float64, g grid) *rivalSequence {
	return &rivalSequence{
		limit: 2 / alpha,
		lower: rivalBettor{grid: g, toward: 1, next: int(math.Ceil(float64(g)/farthest)) - int(g), rivalPurse: fullRivalPurse()},
		upper: rivalBettor{grid: g, toward: -1, next: (farthest - 1) * int(g), rivalPurse: fullRivalPurse()},
	}
}

func fullRivalPurse() rivalPurse {
	var p rivalPurse
	for k := range p {
		p[k] = 1
	}
	return p
}

// add adds a round's log ratio.
func (s *rivalSequence) add(d float64) {
	spread := math.NaN()
	if len(s.d) >= rivalWarmRounds {
		spread = deviation(s.sorted)
	}
	s.d, s.spread = append(s.d, d), append(s.spread, spread)
	at, _ := slices.BinarySearch(s.sorted, d)
	s.sorted = slices.Insert(s.sorted, at, d)
	s.follow(&s.lower)
	s.follow(&s.upper)
}

// ends returns the ends of the interval; 0 and math.MaxFloat64 if they are unbounded. A lower end above the upper one
// means that the ratio changed during the run.
func (s *rivalSequence) ends() (lo, hi float64) { return s.lower.end(), s.upper.end() }

// rivalScore returns 0 without a spread, and the sign of the difference if all earlier rounds were equal.
func rivalScore(above, spread float64) float64 {
	if math.IsNaN(spread) || above == 0 {
		return 0
	}
	return math.Tanh(above / spread)
}

// bet puts each stake on a positive score.
func (p *rivalPurse) bet(rivalScore float64) {
	for k, stake := range rivalStakes {
		p[k] *= 1 + stake*rivalScore
		if p[k] < 1e-290 {
			p[k] = 0
		}
	}
}

func (p *rivalPurse) wealth() float64 {
	sum := 0.0
	for _, w := range p {
		sum += w
	}
	return sum / float64(len(p))
}

// follow bets the latest round against the bettor's ratio, and moves to the next ratio while the present one is ruled
// out.
func (s *rivalSequence) follow(b *rivalBettor) {
	last := len(s.d) - 1
	b.rivalPurse.bet(float64(b.toward) * rivalScore(s.d[last]-math.Log(b.grid.ratio(b.next)), s.spread[last]))
	if b.rivalPurse.wealth() < s.limit {
		return
	}
	// Wealth falls along the way, and nothing beyond the extreme log ratio can be won against: gallop, then bisect.
	// Offset out is ruled out, offset open is not.
	out, open := 0, 1
	for s.ruledOut(b, open) {
		out, open = open, 2*open
	}
	out += sort.Search(open-out-1, func(k int) bool { return !s.ruledOut(b, out+1+k) })
	b.next += b.toward * (out + 1)
	b.rivalPurse = s.replay(b, b.next)
}

// ruledOut reports whether the ratio this number of steps beyond the bettor's ratio is ruled out.
func (s *rivalSequence) ruledOut(b *rivalBettor, steps int) bool {
	p := s.replay(b, b.next+b.toward*steps)
	return p.wealth() >= s.limit
}

// replay returns the purse of a bettor that has bet against the ratio of index i since the first round.
func (s *rivalSequence) replay(b *rivalBettor, i int) rivalPurse {
	p, at := fullRivalPurse(), math.Log(max(0, b.grid.ratio(i)))
	for k, d := range s.d {
		p.bet(float64(b.toward) * rivalScore(d-at, s.spread[k]))
	}
	return p
}

// end returns the last ratio that was ruled out.
func (b *rivalBettor) end() float64 {
	i := b.next - b.toward
	switch ratio := b.grid.ratio(i); {
	case ratio > farthest:
		return math.MaxFloat64
	case b.toward > 0 && ratio < 1.0/farthest:
		return 0
	default:
		return ratio
	}
}
