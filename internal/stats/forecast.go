package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Forecast describes what more rounds are expected to show about a comparison that is not decided yet.
type Forecast struct {
	Kind       ForecastKind `json:"kind"`
	Rounds     int          `json:"rounds"`               // further ones
	Seconds    float64      `json:"seconds,omitempty"`    // time for these rounds; 0: not known
	Resolution float64      `json:"resolution,omitempty"` // smallest difference that these rounds could find: 0.06 is 6%
}

// ForecastKind names the subject of a forecast.
type ForecastKind string

// The kinds of forecast.
const (
	FirstInterval ForecastKind = "first interval" // after these rounds there is certainly an interval
	Decision      ForecastKind = "decision"       // these rounds are enough in four of five simulated continuations
	Resolution    ForecastKind = "resolution"     // no number of rounds is known to be enough; these could find Resolution
)

// ForecastKinds lists all kinds of forecast.
var ForecastKinds = [...]ForecastKind{FirstInterval, Decision, Resolution}

const (
	// courses is the number of simulated continuations of a run, and enoughCourses the number that a forecast has to
	// cover.
	courses       = 40
	enoughCourses = courses * 4 / 5
	// foreseen limits forecasts: a decision is forecast up to this multiple of the rounds so far.
	foreseen = 10
	// resolved is the multiple of the rounds so far for which a resolution is given: four times as many rounds halve an
	// interval.
	resolved = 4
)

// forecast returns the forecast for a comparison that is open, or that waits for the control.
func (r *Judge) forecast(c comparison) *Forecast {
	if first := c.typical.toFirst(); first > 0 {
		return &Forecast{Kind: FirstInterval, Rounds: first}
	}
	margin, wait := r.design.Margin, 0.0
	if control := r.control().typical; !r.controlled() {
		// The control takes part in every block of a round, a cell in only one.
		perRound := max(1, float64(len(control.rounds))/float64(r.rounds))
		wait = control.more(0, control.around(control.ratio(), margin)) / perRound
	}
	g := c.typical.lower.grid
	slower := c.typical.course(&c.typical.lower, g.index(1)+1)
	faster := c.typical.course(&c.typical.upper, g.index(1)-1)
	need := c.typical.more(wait, c.typical.around(1, margin), slower, faster)
	return c.effect().forecast(need, len(c.typical.rounds))
}

// stepForecast returns the forecast for a step that is open.
func (r *Judge) stepForecast(c comparison) *Forecast {
	if first := c.typical.toFirst(); first > 0 {
		return &Forecast{Kind: FirstInterval, Rounds: first}
	}
	at := r.design.Step.scale(r.design.Margin) * float64(c.typical.lower.grid)
	index := func(ratio float64) int { return int(ratio) - int(c.typical.lower.grid) }
	scales := c.typical.course(&c.typical.upper, index(math.Floor(at)))
	stops := c.typical.course(&c.typical.lower, index(math.Ceil(at)))
	return c.effect().forecast(c.typical.more(0, scales, stops), len(c.typical.rounds))
}

// forecast returns the forecast for a decision that needs this number of further rounds.
func (e Effect) forecast(need float64, rounds int) *Forecast {
	if need <= (foreseen-1)*float64(rounds) {
		return &Forecast{Kind: Decision, Rounds: announced(need)}
	}
	if !e.Bounded() || e.Lo > e.Hi {
		return nil
	}
	halfWidth := math.Log(e.Hi/e.Lo) / 2
	found := math.Expm1(halfWidth / math.Sqrt(resolved))
	unit := math.Pow10(int(math.Floor(math.Log10(found))) - 1) // two digits
	return &Forecast{Kind: Resolution, Rounds: (resolved - 1) * rounds, Resolution: math.Ceil(found/unit) * unit}
}

// Taking returns the verdict with the time of the rounds in its forecast, at roundSeconds each.
func (v Verdict) Taking(roundSeconds float64) Verdict {
	if v.Forecast != nil {
		v.Forecast.Seconds = roundSeconds * float64(v.Forecast.Rounds)
		if v.Forecast.Kind == Decision {
			v.MoreRounds, v.MoreSeconds = v.Forecast.Rounds, v.Forecast.Seconds
		}
	}
	return v
}

// toFirst returns how many more rounds it takes until a bettor that wins every bet rules something out. Then both ends
// are bounded for any samples, since all bets against the farthest ratios are won.
func (s *sequence) toFirst() int {
	purse, rounds := s.begin, 0
	for ; purse.wealth() < max(s.lower.limit, s.upper.limit); rounds++ {
		purse.bet(pairPayoff(1, 0))
	}
	return max(0, rounds-len(s.rounds))
}

// course simulates how further rounds, like those so far, may rule out one ratio.
type course struct {
	purse   purse
	limit   float64   // of its wealth
	payoffs []float64 // of each round so far, if it is repeated; none: the ratio is already ruled out
}

// course returns the course to the ratio of index i at a bettor's end.
func (s *sequence) course(b *bettor, i int) []course {
	s.follow(b)
	if (b.next-i)*b.toward > 0 {
		return []course{{}}
	}
	c := course{limit: b.limit, payoffs: make([]float64, len(s.rounds))}
	c.purse, _ = s.replay(b, i)
	spread, at := s.sorted.deviation(), math.Log(max(0, b.grid.ratio(i)))
	for k, r := range s.rounds {
		r.spread = spread
		c.payoffs[k] = r.payoff(b.toward, at)
	}
	return []course{c}
}

// around returns the courses to the ratios at ± margin of a ratio.
func (s *sequence) around(ratio, margin float64) []course {
	g := s.lower.grid
	return slices.Concat(s.course(&s.lower, g.index(ratio-margin)), s.course(&s.upper, g.index(ratio+margin)))
}

// more returns how many more rounds decide the comparison in four of five simulations; infinite where too many are
// undecided after foreseen times the rounds so far. A simulation is decided when all courses of one alternative are
// complete; the first alternative also needs at least wait rounds.
func (s *sequence) more(wait float64, alternatives ...[]course) float64 {
	n := len(s.rounds)
	source := rand.New(rand.NewPCG(uint64(n), 0))
	most := (foreseen - 1) * n
	var needs []int
	for k := range courses {
		if need := s.draw(source, wait, most, alternatives); need <= most {
			needs = append(needs, need)
		}
		if k-len(needs) >= courses-enoughCourses {
			return math.Inf(1)
		}
	}
	slices.Sort(needs)
	return float64(needs[enoughCourses-1])
}

// draw returns the number of rounds that one simulation takes, at most most+1. Its rounds come from Pólya's urn: the
// urn begins with the rounds so far, and each round that is drawn goes back with a copy of itself. So the simulations
// differ as much as the ratio is still uncertain (Rubin, "The Bayesian bootstrap", Annals of Statistics 9, 1981). If
// all were drawn from the rounds so far alone, each would have the ratio that these have by chance, and the forecast
// would often be too optimistic.
func (s *sequence) draw(source *rand.Rand, wait float64, most int, alternatives [][]course) int {
	var purses [4]purse
	n, urn := len(s.rounds), make([]int, 0, most)
	k := 0
	for _, alternative := range alternatives {
		for _, c := range alternative {
			purses[k] = c.purse
			k++
		}
	}
	for round := 1; round <= most; round++ {
		from := source.IntN(n + len(urn))
		if from >= n {
			from = urn[from-n]
		}
		urn = append(urn, from)
		k := 0
		for i, alternative := range alternatives {
			there := i > 0 || float64(round) >= wait
			for _, c := range alternative {
				if c.payoffs != nil {
					purses[k].bet(c.payoffs[from])
					there = there && purses[k].wealth() >= c.limit
				}
				k++
			}
			if there {
				return round
			}
		}
	}
	return most + 1
}

// forecast returns the forecast for the total: the next look, or the rounds after which its interval leaves out 1 if
// the means stay as they are. Widths fall with the square root of the number of rounds.
func (t *totals) forecast() *Forecast {
	rounds := float64(t.sums.rounds)
	need := float64(t.nextAt) - rounds
	if e := t.interval; e.Bounded() {
		ratio := math.Log(e.Hi/e.Lo) / 2 / math.Log(t.ratio())
		need = max(need, safety*rounds*(ratio*ratio-1))
	}
	return t.effect().forecast(need, t.sums.rounds)
}

// safety pads an estimate by the square-root law so that it is enough in four of five cases; without it, it is enough
// in half of them.
const safety = 1.25

// announced rounds an estimate up to one or two digits, since it is not exact.
func announced(rounds float64) int {
	unit := math.Pow10(max(0, int(math.Floor(math.Log10(max(1, rounds)/2)))))
	return int(math.Ceil(rounds/unit) * unit)
}
