package stats

import "math"

// stakes are the shares of its wealth that a bettor puts on each round; the wealth is split among them. Small stakes find small
// differences in long runs, large stakes find large differences in few rounds.
var stakes = [...]float64{0.1, 0.3, 0.6, 1}

// A purse at the beginning: the part of the wealth on each stake, times the number of stakes.
var (
	evenly = purse{1, 1, 1, 1}
	// On the recordings of noise, the first claim comes a round earlier than with an even split, a claim within 150 rounds a tenth earlier, and an
	// answer that takes more rounds a twentieth later.
	boldly = purse{0.3, 0.7, 1.4, 1.6}
)

const (
	// scaleRounds is the number of rounds needed to estimate the spread. Before that, the bet is on the sign.
	scaleRounds = 2
	// steepness is the slope of the payoff where a difference changes its sign.
	steepness = 6
)

// sequence is a confidence sequence for the typical ratio of a cell to its baseline: an interval that covers the truth
// at all rounds at once, so that a run may be looked at after each round and stopped at any time.
//
// A bettor against the ratio r bets, in each round, on the cell being slower (or faster) than r times the baseline, and
// where the baseline's duplicate ran in the same block, puts half of the bet on the duplicate instead. The payoffs of
// the two sides add up to 2, so that exactly one r is fair to both: the centre of the log ratios under this score,
// which is the typical ratio where they are symmetric; a random order makes the log ratios of equal cells symmetric. At
// that r no bet has an advantage, and the wealth exceeds 1/α with a probability of α at most (Ville's inequality;
// Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86, 2024). A bettor on
// "greater" rules out what is below the interval, one on "less" what is above it, each with half of α.
// A payoff depends on one pair only. A payoff for the rank of the cell among the three would win sooner, but would be
// unfair: a cell whose times are spread more widely than the baseline's is often the first and often the last of three.
// Wealth is monotone in r, so only the two ratios next to the interval have to be followed, and the cost of a round
// does not grow with the number of rounds. The ends lie on a grid and are rounded outward: an end is a ratio that was
// ruled out, at any round, and the next one inward was not. They are only computed when somebody asks for them.
type sequence struct {
	begin  purse
	rounds []round
	sorted Sorted // log ratios to the baseline
	lower  bettor
	upper  bettor
}

// round holds the figures of a cell in one round.
type round struct {
	base      float64 // log ratio to the baseline
	duplicate float64 // log ratio to the baseline's duplicate; NaN: the block has none
	spread    float64 // of the log ratios of earlier rounds; 0: not known
}

// purse is the wealth of each stake, before it is divided among them.
type purse [len(stakes)]float64

// bettor follows one end of the interval.
type bettor struct {
	grid   grid
	toward int     // +1: bets that the ratio is greater, and moves the lower end up; -1: the reverse
	limit  float64 // wealth that rules a ratio out
	next   int     // index of the ratio to be ruled out next
	purse  purse
	bets   int // rounds on which it has bet
}

// grid is the ratios 1 + i/grid, for whole i.
type grid float64

// ratio is the nearest number to a short decimal, as it divides only once.
func (g grid) ratio(i int) float64 { return (float64(g) + float64(i)) / float64(g) }

// index returns the index of the nearest ratio.
func (g grid) index(ratio float64) int { return int(math.Round(ratio*float64(g))) - int(g) }

// gridFor returns a grid with steps of a tenth to a hundredth of the precision: a power of ten, so that its ratios are
// short decimals.
func gridFor(precision float64) grid {
	return grid(math.Pow10(int(math.Ceil(-math.Log10(precision/10) - 1e-9))))
}

// farthest is the greatest ratio at which an end is searched for; its inverse is the smallest.
const farthest = 1000

// newSequence returns a sequence with an error probability of at most alpha.
func newSequence(alpha float64, g grid) *sequence {
	return &sequence{
		begin: boldly,
		lower: bettor{grid: g, toward: 1, limit: 2 / alpha, next: int(math.Ceil(float64(g)/farthest)) - int(g), purse: boldly},
		upper: bettor{grid: g, toward: -1, limit: 2 / alpha, next: (farthest - 1) * int(g), purse: boldly},
	}
}

// sequence returns a sequence with an error probability of at most alpha.
func (d Design) sequence(alpha float64) *sequence {
	s := newSequence(alpha, d.grid())
	if d.Even {
		s.begin, s.lower.purse, s.upper.purse = evenly, evenly, evenly
	}
	return s
}

// add adds a round's log ratios to the baseline and to its duplicate, which is NaN if the block has none.
func (s *sequence) add(base, duplicate float64) {
	spread := 0.0
	if len(s.rounds) >= scaleRounds {
		spread = s.sorted.deviation()
	}
	s.rounds = append(s.rounds, round{base, duplicate, spread})
	s.sorted.Add(base)
}

// ratio returns the typical ratio: the Hodges-Lehmann estimate of the log ratios, or 1 without any.
func (s *sequence) ratio() float64 {
	if len(s.rounds) == 0 {
		return 1
	}
	return math.Exp(hodgesLehmann(s.sorted.values()))
}

// ends returns the interval without an estimate, which takes longer. A lower end above the upper one means that the ratio
// changed during the run.
func (s *sequence) ends() Effect {
	s.follow(&s.lower)
	s.follow(&s.upper)
	return Effect{Lo: s.lower.end(), Hi: s.upper.end()}
}

// payoff returns what a round pays for a bet of 1 that the cell's log ratio is above logRatio (toward +1) or below it
// (−1): 1 on average where logRatio is the centre.
func (r round) payoff(toward int, logRatio float64) float64 {
	pay := pairPayoff(float64(toward)*(r.base-logRatio), r.spread)
	if math.IsNaN(r.duplicate) {
		return pay
	}
	return (pay + pairPayoff(float64(toward)*(r.duplicate-logRatio), r.spread)) / 2
}

// pairPayoff returns a payoff between 0 and 2; those of above and −above add up to 2.
func pairPayoff(above, spread float64) float64 {
	score := 0.0
	switch {
	case spread > 0:
		score = math.Tanh(above / (2 * spread))
	case above != 0:
		score = math.Copysign(1, above)
	}
	return 2 / (1 + math.Exp(-steepness*score))
}

// bet puts each stake on a payoff. A stake that has almost vanished becomes 0, since arithmetic on subnormal numbers is
// slow; what is won above 1e300, which no limit reaches, is given away.
func (p *purse) bet(payoff float64) {
	for k, stake := range stakes {
		p[k] = min(p[k]*(1+stake*(payoff-1)), 1e300)
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

// follow bets the rounds since the last call against the bettor's ratio, and moves to the first ratio that none of them rules out.
func (s *sequence) follow(b *bettor) {
	if s.bet(&b.purse, b, b.next, b.bets) {
		// Wealth falls along the way, and nothing beyond the extreme log ratio can be won against: gallop, then bisect.
		// Offset out is ruled out, offset open is not, and purse is that of open.
		out, open := 0, 1
		purse, ruledOut := s.replay(b, b.next+b.toward)
		for ruledOut {
			out, open = open, 2*open
			purse, ruledOut = s.replay(b, b.next+b.toward*open)
		}
		for open-out > 1 {
			mid := (out + open) / 2
			if p, ruledOut := s.replay(b, b.next+b.toward*mid); ruledOut {
				out = mid
			} else {
				open, purse = mid, p
			}
		}
		b.next += b.toward * open
		b.purse = purse
	}
	b.bets = len(s.rounds)
}

// replay returns the purse of a bettor that has bet against the ratio of index i since the first round, and whether it has ruled it out.
func (s *sequence) replay(b *bettor, i int) (p purse, ruledOut bool) {
	p = s.begin
	ruledOut = s.bet(&p, b, i, 0)
	return p, ruledOut
}

// bet bets against the ratio of index i, from this round on, until that is ruled out. It reports whether it was.
func (s *sequence) bet(p *purse, b *bettor, i, from int) bool {
	at := math.Log(max(0, b.grid.ratio(i)))
	for _, r := range s.rounds[from:] {
		if p.bet(r.payoff(b.toward, at)); p.wealth() >= b.limit {
			return true
		}
	}
	return false
}

// end returns the last ratio that was ruled out.
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
