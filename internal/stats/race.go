// Package stats judges: it says which cells of a run differ from the baseline, with what certainty, and when enough was
// sampled. It is pure: the order of the samples comes from a seed, and the same samples give the same verdicts.
//
// The design is randomised complete blocks: each round takes every live cell once, in a random order, so that drift and
// periodic noise fall on all cells alike. Each cell is compared with the baseline's sample of the same block, by the
// typical ratio (sequence) and by the ratio of the means (totals); the baseline runs twice, as a control of the method
// itself. No sample is ever dropped.
package stats

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Design is what is fixed before the first sample.
type Design struct {
	Seed      uint64
	Cells     []string // the content of each cell, without its name: their canonical order is that of these
	Baseline  int      // which of them
	Alpha     float64  // the probability of any false verdict in a run: 0.05
	Margin    float64  // a difference up to it is none: 0.02 is 2%
	Precision float64  // width of the interval at which a cell has been sampled enough: 0.02 is 2%
	Rounds    int      // that every cell takes; 0: until it has been sampled enough
	// Comparisons is how many there are in all races that share Alpha, their controls among them; 0: as many as here.
	Comparisons int
	Rate        bool // the times are inverses of rates, of which the verdicts tell
}

// totalShare is the part of α that goes to the totals.
const totalShare = 0.2

// Race takes the samples of a run, round by round, and says which cells need more.
type Race struct {
	design      Design
	order       order
	live        []int // cells but the baseline, in canonical order, the control last
	grid        grid
	comparisons []comparison // by cell, the control last; the baseline's is empty
	rounds      int
}

// comparison is one cell against the baseline.
type comparison struct {
	typical *sequence
	total   *totals
}

// effect is the typical one. Its estimate is moved to the interval where it lies outside: what was ruled out is not
// shown as the likeliest.
func (c comparison) effect() Effect {
	lo, hi := c.typical.ends()
	return Effect{Ratio: max(lo, min(hi, c.typical.ratio())), Lo: lo, Hi: hi}
}

func (c comparison) totalEffect() Effect {
	lo, hi := c.total.ends()
	return Effect{Ratio: c.total.ratio(), Lo: lo, Hi: hi}
}

// differs tells whether either interval leaves out 1. It costs no estimate.
func (c comparison) differs() bool {
	return outside(c.typical.ends()) || outside(c.total.ends())
}

// NewRace refuses designs that say nothing: fewer than two cells, two cells alike, shares outside (0, 1).
func NewRace(d Design) (*Race, error) {
	if len(d.Cells) < 2 {
		return nil, fmt.Errorf("%d cells cannot be compared: at least 2 are needed", len(d.Cells))
	}
	if d.Baseline < 0 || d.Baseline >= len(d.Cells) {
		return nil, fmt.Errorf("the baseline, cell %d, is not among the %d cells", d.Baseline, len(d.Cells))
	}
	if err := checkShares(d.Alpha, d.Margin, d.Precision); err != nil {
		return nil, err
	}
	first := map[string]int{}
	for i, cell := range d.Cells {
		if j, found := first[cell]; found {
			return nil, fmt.Errorf("cells %d and %d are the same", j, i)
		}
		first[cell] = i
	}
	if d.Rounds < 0 {
		return nil, fmt.Errorf("%d rounds cannot be taken", d.Rounds)
	}
	r := &Race{
		design:      d,
		order:       order{seed: d.Seed, baseline: d.Baseline},
		grid:        gridFor(d.Precision),
		comparisons: make([]comparison, len(d.Cells)+1),
	}
	for cell := range d.Cells {
		if cell != d.Baseline {
			r.live = append(r.live, cell)
		}
	}
	slices.SortFunc(r.live, func(a, b int) int { return strings.Compare(d.Cells[a], d.Cells[b]) })
	r.live = append(r.live, r.Control())
	alpha := d.Alpha / float64(max(d.Comparisons, len(r.live)))
	for _, cell := range r.live {
		r.comparisons[cell] = comparison{
			typical: newSequence((1-totalShare)*alpha, r.grid),
			total:   newTotals(totalShare*alpha, r.grid),
		}
	}
	return r, nil
}

func checkShares(alpha, margin, precision float64) error {
	for _, share := range []struct {
		name  string
		value float64
	}{{"error rate", alpha}, {"margin", margin}, {"precision", precision}} {
		if !(share.value > 0 && share.value < 1) {
			return fmt.Errorf("the %s, %v, is not between 0 and 1", share.name, share.value)
		}
	}
	return nil
}

// checkSeconds refuses what is no time.
func checkSeconds(seconds []float64) error {
	for i, s := range seconds {
		if !(s > 0 && s <= math.MaxFloat64) {
			return fmt.Errorf("sample %d took %v seconds, which is no time", i, s)
		}
	}
	return nil
}

// Control is the number under which the baseline runs a second time.
func (r *Race) Control() int { return len(r.design.Cells) }

// Rounds is how many were added.
func (r *Race) Rounds() int { return r.rounds }

// Next is the order of the next round.
func (r *Race) Next() Round { return r.order.round(r.rounds, r.live) }

// Add takes the seconds of a round's samples, in the order in which they were taken. Then the cells that have been
// sampled enough leave the race. A block of which a sample is missing is left out of both.
func (r *Race) Add(round Round, seconds []float64) error {
	if err := r.check(round, seconds); err != nil {
		return fmt.Errorf("round %d: %w", r.rounds, err)
	}
	for _, block := range round {
		at := slices.Index(block, r.design.Baseline)
		for i, cell := range block {
			if i != at {
				r.comparisons[cell].typical.add(math.Log(seconds[i] / seconds[at]))
				r.comparisons[cell].total.add(seconds[i], seconds[at])
			}
		}
		seconds = seconds[len(block):]
	}
	r.rounds++
	if r.rounds == r.design.Rounds {
		for _, cell := range r.live {
			r.comparisons[cell].total.end()
		}
	}
	r.live = slices.DeleteFunc(r.live, func(cell int) bool { return cell != r.Control() && r.settled(cell) })
	return nil
}

// check tells what is wrong with a round, as one that was read from a file.
func (r *Race) check(round Round, seconds []float64) error {
	if len(seconds) != round.Samples() {
		return fmt.Errorf("%d samples have %d times", round.Samples(), len(seconds))
	}
	if err := checkSeconds(seconds); err != nil {
		return err
	}
	taken := make([]bool, r.Control()+1)
	for _, block := range round {
		baselines := 0
		for _, cell := range block {
			switch {
			case cell < 0 || cell > r.Control():
				return fmt.Errorf("there is no cell %d", cell)
			case cell == r.design.Baseline:
				baselines++
			case taken[cell]:
				return fmt.Errorf("cell %d was taken twice", cell)
			}
			taken[cell] = true
		}
		if baselines != 1 {
			return fmt.Errorf("a block has the baseline %d times", baselines)
		}
	}
	return nil
}

// Leave takes a cell out of the race, as one that cannot be run.
func (r *Race) Leave(cell int) {
	r.live = slices.DeleteFunc(r.live, func(live int) bool { return live == cell })
}

// Live are the cells that the next round takes besides the baseline and the control, in ascending order.
func (r *Race) Live() []int {
	live := slices.DeleteFunc(slices.Clone(r.live), func(cell int) bool { return cell == r.Control() })
	slices.Sort(live)
	return live
}

// Done tells whether more rounds would serve nothing: the planned ones were taken; or no cell is live and the control
// is fine; or the control differs from its twin, so that no verdict can be had any more.
func (r *Race) Done() bool {
	if r.design.Rounds > 0 {
		return r.rounds >= r.design.Rounds
	}
	return r.unsound() || len(r.live) <= 1 && r.controlled()
}

// settled tells whether a cell has been sampled enough: its typical ratio is known, and its total was looked at and
// does not speak against that.
func (r *Race) settled(cell int) bool {
	c := r.comparisons[cell]
	if r.design.Rounds > 0 || c.total.looks == 0 {
		return false
	}
	lo, hi := c.typical.ends()
	e := Effect{Lo: lo, Hi: hi}
	return (hi <= lo*(1+r.design.Precision) || e.within(r.design.Margin)) && !r.doubtful(cell, e)
}

// doubtful tells whether a verdict of "no difference" would hide what the total speaks for.
func (r *Race) doubtful(cell int, typical Effect) bool {
	return typical.kind(r.design.Margin) == Same && r.comparisons[cell].total.differs(r.design.Margin)
}

// unsound tells whether the baseline differs from its own duplicate.
func (r *Race) unsound() bool {
	control := r.comparisons[r.Control()]
	lo, hi := control.typical.ends()
	return control.differs() || lo > hi
}

// controlled tells whether the control's interval is as narrow as one of ± margin.
func (r *Race) controlled() bool {
	lo, hi := r.comparisons[r.Control()].typical.ends()
	return hi-lo <= 2*r.design.Margin+rounding
}

// Verdicts are those on every cell, in the order of the design; the baseline's is empty. A round takes roundSeconds, so
// that the time for more of them can be told; 0 where that is not known.
func (r *Race) Verdicts(roundSeconds float64) []Verdict {
	verdicts := make([]Verdict, len(r.design.Cells))
	for cell := range verdicts {
		if cell != r.design.Baseline {
			verdicts[cell] = r.verdict(cell)
			verdicts[cell].MoreSeconds = roundSeconds * float64(verdicts[cell].MoreRounds)
		}
	}
	return verdicts
}

// verdict judges a cell by its two effects, and then whether the run is one by which to judge.
func (r *Race) verdict(cell int) Verdict {
	c := r.comparisons[cell]
	v := r.measured(c)
	need := 0.0 // rounds until it can be told
	switch {
	case r.unsound():
		v.Kind = CantTell
		v.Reason = "the baseline differs from its own duplicate: " + v.control(r.comparisons[r.Control()])
		return v
	case v.Typical.Lo > v.Typical.Hi:
		v.Kind = CantTell
		v.Reason = "the ratio to the baseline changed during the run"
		return v
	case v.Kind == Same && r.doubtful(cell, v.Typical):
		v.Kind = CantTell
		v.Reason = v.uncertainTotal(c.total.ratio())
		need = c.total.toDiffer()
	case v.Kind == CantTell:
		need = c.typical.toTell(v.Margin)
	}
	if control := r.comparisons[r.Control()]; !r.controlled() && !v.beyond(control.effect()) {
		if v.Kind != CantTell {
			v.Kind = CantTell
			v.Reason = "the control is not settled yet"
			if control.effect().bounded() {
				v.Reason += ": " + v.control(control)
			}
		}
		need = max(need, control.typical.toNarrow(control.typical.ratio(), v.Margin))
	}
	if need > 0 {
		v.MoreRounds = announced(need)
	}
	return v
}
