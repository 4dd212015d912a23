package stats

import "math"

// Differences is a confidence sequence for a typical difference, as sequence is one for a typical ratio: by the same bets, on the
// cell's figure minus the baseline's. It also holds for figures that are often 0, of which there is no ratio. Its ends are only computed
// when somebody asks for them.
type Differences struct {
	least  float64 // the finest step to which ends are rounded
	limit  float64 // wealth that rules a difference out
	rounds []round // of differences, in place of log ratios
	sorted Sorted
}

// MostDifferences is the number of rounds on which bets are made. The intervals of what is only explained need not become narrower
// in longer runs, and take as long as there are rounds.
const MostDifferences = 1000

// NewDifferences returns a sequence without rounds, with an error probability of at most alpha. Least is a difference that nobody asks for.
func NewDifferences(alpha, least float64) *Differences {
	return &Differences{least: least, limit: 2 / alpha}
}

// Add adds a round: the cell's figure minus the baseline's, and minus that of the baseline's duplicate, which is NaN if the block has none.
func (d *Differences) Add(base, duplicate float64) {
	if len(d.rounds) == MostDifferences {
		return
	}
	spread := 0.0
	if len(d.rounds) >= scaleRounds {
		spread = d.sorted.deviation()
	}
	d.rounds = append(d.rounds, round{base, duplicate, spread})
	d.sorted.Add(base)
}

// Rounds returns the number of rounds on which bets were made.
func (d *Differences) Rounds() int { return len(d.rounds) }

// Shift is a typical difference, in the unit of the figure.
type Shift struct {
	Typical float64  `json:"typical"`      // the Hodges-Lehmann estimate, moved into the interval
	Lo      *float64 `json:"lo,omitempty"` // nil: not bounded
	Hi      *float64 `json:"hi,omitempty"`
}

// Beyond reports whether the whole interval is beyond a difference, toward greater ones if side is above 0, and toward smaller ones if it is
// below.
func (d Shift) Beyond(difference, side float64) bool {
	return side > 0 && d.Lo != nil && *d.Lo > difference || side < 0 && d.Hi != nil && *d.Hi < difference
}

// Clear reports whether the interval is on the same side of 0 as a number.
func (d Shift) Clear(side float64) bool { return d.Beyond(0, side) }

// Found returns the typical difference and its interval; 0, not bounded, without rounds.
func (d *Differences) Found() (of Shift) {
	if len(d.rounds) == 0 {
		return of
	}
	typical := hodgesLehmann(d.sorted.values())
	of = Shift{typical, d.end(+1, typical), d.end(-1, typical)}
	if of.Lo != nil {
		of.Typical = max(of.Typical, *of.Lo)
	}
	if of.Hi != nil {
		of.Typical = min(of.Typical, *of.Hi)
	}
	return of
}

// step returns the step to which ends are rounded: a power of ten, of which a tenth of the spread has one to ten, so that each end takes
// some ten passes over the rounds.
func (d *Differences) step() float64 {
	if spread := d.sorted.deviation() / 10; spread > d.least {
		return math.Pow10(int(math.Floor(math.Log10(spread))))
	}
	return d.least
}

// end returns the last difference, on a whole number of steps, that the bettor toward +1 (the lower end) or −1 has ruled out; nil: none. It
// gallops from the typical difference and then bisects. An end is rounded outward: it was ruled out itself.
func (d *Differences) end(toward int, typical float64) *float64 {
	side := float64(toward)
	if !d.ruledOut(toward, math.Inf(-toward)) {
		return nil
	}
	step := d.step()
	at := func(i float64) bool { return d.ruledOut(toward, side*i*step) } // wealth falls with i
	open := math.Ceil(side * typical / step)
	out := open
	for hop := 1.0; at(open); hop *= 2 { // by the duplicate, which differs from the baseline
		out, open = open, open+hop
	}
	for hop := 1.0; out == open || !at(out); hop *= 2 {
		if out < open {
			open = out
		}
		out = open - hop
	}
	for open-out > 1 {
		if mid := math.Floor((out + open) / 2); at(mid) {
			out = mid
		} else {
			open = mid
		}
	}
	return new(decimal(side*out, step))
}

// decimal returns n steps. A step that is a part of 1 divides, so that the result is a short decimal.
func decimal(n, step float64) float64 {
	if step < 1 {
		return n / math.Round(1/step)
	}
	return n * step
}

// ruledOut reports whether the bets against a difference have won enough after some round. Wealth falls along the way from the one end to
// the other, so that what lies beyond a difference that is ruled out is ruled out too.
func (d *Differences) ruledOut(toward int, difference float64) bool {
	p := boldly
	for _, r := range d.rounds {
		if p.bet(r.payoff(toward, difference)); p.wealth() >= d.limit {
			return true
		}
	}
	return false
}
