package stats

import (
	"math"
	"slices"
	"sort"
)

// stakes are the shares of its wealth that a bettor puts on each round; the wealth is split evenly among them. Small
// ones find small differences in long runs, large ones large differences in few rounds.
var stakes = [...]float64{0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.7, 0.9}

// warmRounds is how many rounds pass before the first bet, so that there is a spread to scale by.
const warmRounds = 3

// sequence is a confidence sequence for the typical ratio of a cell to its baseline: an interval that covers the truth
// at all rounds at once, so that one may look after each round and stop at will.
//
// For a ratio r, d is a round's log ratio and its score tanh((d − log r) / s), s being the deviation of the rounds
// before. Where r is the truth, a random order makes the score as likely positive as negative whatever the noise, so
// that no bet on its sign has an advantage: the wealth Π(1 + λ·score) exceeds 1/α with a probability of α at most
// (Ville's inequality; Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86,
// 2024). A bettor on "greater" rules out what is below the interval, one on "less" what is above it, each
// with half of α. Wealth is monotone in r, hence only the two ratios next to the interval have to be followed, and a
// round costs the same however many there were.
//
// The ends lie on a grid and are rounded outward: an end is a ratio that was ruled out; the next one inward was not.
type sequence struct {
	limit  float64   // wealth that rules a ratio out
	d      []float64 // log ratios, in the order of the rounds
	spread []float64 // what each was scaled by
	sorted []float64 // d, ascending
	lower  bettor
	upper  bettor
}

// purse is the wealth of each stake, before it is divided among them.
type purse [len(stakes)]float64

// bettor follows one end.
type bettor struct {
	grid   grid
	toward int // +1: bets that the ratio is greater, and moves the lower end up; -1: the reverse
	next   int // index of the ratio to be ruled out next
	purse  purse
}

// grid is the ratios 1 + i/grid, for whole i.
type grid float64

// ratio is the nearest number to a short decimal, as it divides only once.
func (g grid) ratio(i int) float64 { return (float64(g) + float64(i)) / float64(g) }

// index is that of the nearest ratio.
func (g grid) index(ratio float64) int { return int(math.Round(ratio*float64(g))) - int(g) }

// gridFor has steps of a tenth to a hundredth of the precision: a power of ten, so that its ratios are short decimals.
func gridFor(precision float64) grid {
	return grid(math.Pow10(int(math.Ceil(-math.Log10(precision/10) - 1e-9))))
}

// farthest is the ratio, and its inverse, beyond which no end is looked for.
const farthest = 1000

// newSequence has an error of at most alpha.
func newSequence(alpha float64, g grid) *sequence {
	return &sequence{
		limit: 2 / alpha,
		lower: bettor{grid: g, toward: 1, next: int(math.Ceil(float64(g)/farthest)) - int(g), purse: fullPurse()},
		upper: bettor{grid: g, toward: -1, next: (farthest - 1) * int(g), purse: fullPurse()},
	}
}

func fullPurse() purse {
	var p purse
	for k := range p {
		p[k] = 1
	}
	return p
}

// add takes a round's log ratio.
func (s *sequence) add(d float64) {
	spread := math.NaN()
	if len(s.d) >= warmRounds {
		spread = deviation(s.sorted)
	}
	s.d, s.spread = append(s.d, d), append(s.spread, spread)
	at, _ := slices.BinarySearch(s.sorted, d)
	s.sorted = slices.Insert(s.sorted, at, d)
	s.follow(&s.lower)
	s.follow(&s.upper)
}

// rounds is how many log ratios were added.
func (s *sequence) rounds() int { return len(s.d) }

// ratio is the typical ratio: the Hodges-Lehmann estimate of the log ratios. It is 1 when there are none.
func (s *sequence) ratio() float64 {
	if len(s.d) == 0 {
		return 1
	}
	return math.Exp(hodgesLehmann(s.sorted))
}

// ends are the interval's; 0 and math.MaxFloat64 where nothing bounds it yet. A lower end above the upper one means
// that the ratio changed during the run.
func (s *sequence) ends() (lo, hi float64) { return s.lower.end(), s.upper.end() }

// score is 0 while there is no spread to scale by, and the sign where all rounds before were alike.
func score(above, spread float64) float64 {
	if math.IsNaN(spread) || above == 0 {
		return 0
	}
	return math.Tanh(above / spread)
}

// bet puts each stake on a positive score. What has all but vanished is given up, since arithmetic on subnormal numbers
// is slow.
func (p *purse) bet(score float64) {
	for k, stake := range stakes {
		p[k] *= 1 + stake*score
		if p[k] < 1e-290 {
			p[k] = 0
		}
	}
}

func (p *purse) wealth() float64 {
	sum := 0.0
	for _, w := range p {
		sum += w
	}
	return sum / float64(len(p))
}

// follow bets the latest round against the bettor's ratio, and moves on while that is ruled out.
func (s *sequence) follow(b *bettor) {
	last := len(s.d) - 1
	b.purse.bet(float64(b.toward) * score(s.d[last]-math.Log(b.grid.ratio(b.next)), s.spread[last]))
	if b.purse.wealth() < s.limit {
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
	b.purse = s.replay(b, b.next)
}

// ruledOut tells it of the ratio that is so many steps beyond the bettor's.
func (s *sequence) ruledOut(b *bettor, steps int) bool {
	p := s.replay(b, b.next+b.toward*steps)
	return p.wealth() >= s.limit
}

// replay is the purse of a bettor that had bet against the ratio of index i from the first round on.
func (s *sequence) replay(b *bettor, i int) purse {
	p, at := fullPurse(), math.Log(max(0, b.grid.ratio(i)))
	for k, d := range s.d {
		p.bet(float64(b.toward) * score(d-at, s.spread[k]))
	}
	return p
}

// end is the last ratio that was ruled out.
func (b *bettor) end() float64 {
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
