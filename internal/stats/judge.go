// Package stats judges runs: it decides which cells differ from the baseline, with what certainty, and when enough was
// sampled. It is pure: the order of the samples comes from a seed, and the same samples give the same verdicts.
//
// The design is randomised complete blocks: each round takes every live cell once, in a random order, so that drift and
// periodic noise affect all cells equally. Each cell is compared with the baseline's sample of the same block, by the
// typical ratio (sequence) and by the ratio of the means (totals). The baseline runs twice in each block: its duplicate
// is a second baseline for the typical ratio, and a control of the method itself. No valid sample is ever dropped.
package stats

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Design holds what is fixed before the first sample. Sessions, Relative and PairedSamples use only Alpha, Margin,
// Precision, Comparisons (which is not 0 there), Rate and Amount.
type Design struct {
	Seed      uint64
	Cells     []string // the content of each cell, without its name; sorting these gives the canonical order
	Baseline  int      // index in Cells
	Alpha     float64  // the probability of any false verdict in a run: 0.05
	Margin    float64  // a smaller difference counts as none: 0.02 is 2%
	Precision float64  // width of the interval at which a cell is sampled enough; at most the margin
	Until              // when to stop
	// Comparisons is the number of comparisons in all judges that share Alpha, including controls and contrasts; 0: this
	// judge is the only one.
	Comparisons int
	Contrasts   []Contrast
	Even        bool  // bettors split their wealth evenly among their stakes, as in older runs
	Untied      bool  // the error of a contest is that of one cell against each other one, as in older runs
	Strict      bool  // a baseline that differs from its own duplicate leaves no verdict, however little it does, as in older runs
	Step        *Step // nil: what is asked is whether the cells differ
	Rate        bool  // the times are inverses of rates, and verdicts give rates
	Amount      bool  // the compared figure is not a time; see Verdict
}

// Step is a step of a search in order: whether the cell, of which there is one, does more than the baseline in the same time. The cell scales
// if the ratio of the throughputs, which is its work over the ratio of the times, is above 1 + margin.
//
// Two one-sided hypotheses share the error of a comparison. That a cell does not scale is tested at half of it in each step, as a step is only
// tried when the one before it is claimed to scale: the first step that does not scale is claimed to do so with that probability, and a search
// that is right up to there makes no claim after it (a fixed sequence; Maurer, Hothorn and Lehmacher, "Multiple comparisons in drug clinical
// trials and preclinical assays", 1995). That a cell scales is tested at the other half divided by the number of steps.
type Step struct {
	Work  float64 // of the cell, in that of the baseline
	Count int     // of the steps of the search
}

// scale returns the ratio of times below which a cell scales.
func (s *Step) scale(margin float64) float64 { return s.Work / (1 + margin) }

// Until says when a run stops. The zero value is: when each cell is sampled enough.
type Until struct {
	Rounds  int  // for every cell; 0: until it is sampled enough
	Answers bool // a difference is also known enough when its interval is narrow for its size; see Effect.answers
	Held    bool // cells leave only by Judge.Leave or Judge.Release
	Best    bool // cells leave when they cannot be the best; see contest
}

// alpha is the error of each comparison.
func (d Design) alpha() float64 { return d.Alpha / float64(d.Comparisons) }

func (d Design) grid() grid { return gridFor(d.Precision) }

// open returns the verdict after this number of rounds, before any figure is known.
func (d Design) open(rounds int) Verdict {
	return Verdict{
		Kind: CantTell, Typical: Effect{Ratio: 1, Hi: math.MaxFloat64}, Rounds: rounds,
		Margin: d.Margin, Step: 1 / float64(d.grid()), Rate: d.Rate, Amount: d.Amount,
	}
}

// Contrast is a comparison of two cells other than the baseline, declared before the first sample. Both are in the same
// block. Cell B is judged against cell A.
type Contrast struct{ A, B int }

// totalShare is the part of α that goes to the totals.
const totalShare = 0.2

// Judge takes the samples of a run, round by round, and decides which cells need more.
type Judge struct {
	design      Design
	order       order
	live        []int        // cells other than the baseline and the control, in canonical order
	comparisons []comparison // by cell, the control last; the baseline's is empty
	contrasts   []comparison
	gone        map[int]bool // cells that cannot be run
	until       Until
	contest     *contest // nil: no best cell is looked for
	rounds      int
}

// comparison is one cell against the baseline, or against another cell.
type comparison struct {
	typical *sequence
	total   *totals
}

// comparison returns a comparison without rounds, of which the error is a share of that of each comparison of the design.
func (d Design) comparison(share float64) comparison {
	alpha := share * d.alpha()
	return comparison{d.sequence((1 - totalShare) * alpha), newTotals(totalShare*alpha, d.grid())}
}

// compared returns what verdicts compare with the ends of a total: kind, judged and Found.
func (d Design) compared(typical Effect) *compared {
	return &compared{low: []float64{1 - d.Margin, 1, typical.Hi}, high: []float64{1 + d.Margin, 1, typical.Lo}}
}

// add adds the seconds of a block; duplicate is NaN if the block has none.
func (c comparison) add(cell, base, duplicate float64) {
	c.typical.add(math.Log(cell/base), math.Log(cell/duplicate))
	c.total.add(cell, base)
}

// effect returns the typical effect. An estimate outside the interval is moved to its end: a ratio that was ruled out
// is not shown as the likeliest.
func (c comparison) effect() Effect {
	e := c.typical.ends()
	e.Ratio = max(e.Lo, min(e.Hi, c.typical.ratio()))
	return e
}

// differs reports whether either interval leaves out 1. It computes no estimate.
func (c comparison) differs() bool { return c.typical.ends().differs() || c.total.interval.differs() }

// NewJudge returns an error for cells that cannot be compared: fewer than two, two equal ones, contrasts that do not fit.
func NewJudge(d Design) (*Judge, error) {
	if len(d.Cells) < 2 {
		return nil, fmt.Errorf("%d cells cannot be compared: at least 2 are needed", len(d.Cells))
	}
	first := map[string]int{}
	for i, cell := range d.Cells {
		if j, found := first[cell]; found {
			return nil, fmt.Errorf("cells %d and %d are the same", j, i)
		}
		first[cell] = i
	}
	// A cell leaves when its interval is as narrow as the precision, which must be enough to decide.
	d.Precision = min(d.Precision, d.Margin)
	d.Comparisons = max(d.Comparisons, len(d.Cells)+len(d.Contrasts))
	r := &Judge{
		design:      d,
		order:       order{seed: d.Seed, baseline: d.Baseline, control: len(d.Cells)},
		comparisons: make([]comparison, len(d.Cells)+1),
		gone:        map[int]bool{},
		until:       d.Until,
	}
	if d.Best {
		r.contest = newContest(d)
	}
	if err := checkContrasts(d); err != nil {
		return nil, err
	}
	if err := r.order.join(d.Contrasts); err != nil {
		return nil, err
	}
	for cell := range r.comparisons {
		if cell == d.Baseline {
			continue
		}
		r.comparisons[cell] = r.comparison()
	}
	r.revive()
	for range d.Contrasts {
		r.contrasts = append(r.contrasts, r.comparison())
	}
	return r, nil
}

// revive makes all cells live that can be run.
func (r *Judge) revive() {
	r.live = nil
	for cell := range r.design.Cells {
		if cell != r.design.Baseline && !r.gone[cell] {
			r.live = append(r.live, cell)
		}
	}
	slices.SortFunc(r.live, func(a, b int) int { return strings.Compare(r.design.Cells[a], r.design.Cells[b]) })
}

// GoOn sets another end. The look at the totals stays at the end of the rounds that were planned first: an end that was chosen after the
// samples were seen gets none.
func (r *Judge) GoOn(until Until) {
	if until.Best && r.contest == nil {
		r.contest = newContest(r.design)
	}
	before := r.until
	r.until, before.Rounds = until, until.Rounds
	if until.Rounds > 0 || until.Held || before != until {
		r.revive()
	}
	if before != until {
		r.settle()
	}
}

// settle leaves out the cells that are sampled enough.
func (r *Judge) settle() {
	switch {
	case r.until.Held:
	case r.until.Best:
		r.live = slices.DeleteFunc(r.live, r.beaten)
	default:
		r.live = slices.DeleteFunc(r.live, r.Settled)
	}
}

// comparison returns a comparison without rounds. In a search in order, a lower end supports the claim that a cell does not scale.
func (r *Judge) comparison() comparison {
	c := r.design.comparison(1)
	c.total.compared = func() *compared { return r.design.compared(c.typical.ends()) }
	if step := r.design.Step; step != nil {
		c.typical.lower.limit *= float64(step.Count)
	}
	return c
}

func checkContrasts(d Design) error {
	declared := map[Contrast]bool{}
	for i, c := range d.Contrasts {
		switch {
		case c.A == d.Baseline || c.B == d.Baseline:
			return fmt.Errorf("contrast %d names the baseline, with which each cell is compared already", i)
		case c.A == c.B:
			return fmt.Errorf("contrast %d compares cell %d with itself", i, c.A)
		case declared[c] || declared[Contrast{A: c.B, B: c.A}]:
			return fmt.Errorf("contrast %d (cells %d and %d) is declared twice", i, c.A, c.B)
		}
		declared[c] = true
	}
	return nil
}

// Rounds returns the number of rounds added so far.
func (r *Judge) Rounds() int { return r.rounds }

// Next returns the order of the next round.
func (r *Judge) Next() Round {
	alone := r.until.Best && r.beaten(r.design.Baseline) && len(r.live) <= BlockCells
	return r.order.round(r.rounds, r.live, alone)
}

// Add adds the seconds of the samples of a round that Next returned, in the order in which they were taken. Then the cells
// that have been sampled enough are left out. A block with a missing or invalid sample is left out completely: no bet is
// made on it. Leaving out that sample alone would be unfair if samples are lost because they are slow.
func (r *Judge) Add(round Round, seconds []float64) error {
	for i, s := range seconds {
		if !(s > 0 && s <= math.MaxFloat64) {
			return fmt.Errorf("round %d: sample %d took %v seconds: a time must be positive and finite", r.rounds, i, s)
		}
	}
	for _, block := range round {
		took := map[int]float64{} // by cell
		for i, cell := range block {
			took[cell] = seconds[i]
		}
		duplicate := math.NaN()
		if control, sampled := took[r.Control()]; sampled {
			duplicate = control
		}
		if r.until.Best {
			r.contest.add(took, duplicate, len(r.live) < mostMet, r.apart())
		}
		base, compared := took[r.design.Baseline]
		for _, cell := range block {
			switch {
			case cell == r.design.Baseline, !compared:
			case cell == r.Control():
				r.comparisons[cell].add(duplicate, base, math.NaN())
			default:
				r.comparisons[cell].add(took[cell], base, duplicate)
			}
		}
		for i, c := range r.design.Contrasts {
			a, sampled := took[c.A]
			if b, both := took[c.B]; sampled && both {
				r.contrasts[i].add(b, a, math.NaN())
			}
		}
		seconds = seconds[len(block):]
	}
	r.rounds++
	if r.rounds == r.design.Rounds {
		for _, c := range r.all() {
			c.total.end()
		}
	}
	r.settle()
	return nil
}

// all returns all comparisons.
func (r *Judge) all() []comparison {
	return slices.Concat(r.comparisons[:r.design.Baseline], r.comparisons[r.design.Baseline+1:], r.contrasts)
}

// Leave leaves out a cell from now on, for example one that cannot be run.
func (r *Judge) Leave(cell int) {
	r.gone[cell] = true
	r.Release(cell)
}

// Release leaves out a cell from now on, because nothing more is asked about it.
func (r *Judge) Release(cell int) {
	r.live = slices.DeleteFunc(r.live, func(live int) bool { return live == cell })
}

// Live returns the cells that the next round takes in addition to the baseline and the control, in ascending order.
func (r *Judge) Live() []int { return slices.Sorted(slices.Values(r.live)) }

// Done reports whether more rounds are pointless: the planned ones were taken, or no cell is live and none waits for
// the control, or no verdict is possible.
func (r *Judge) Done() bool {
	switch {
	case r.until.Rounds > 0 && r.rounds >= r.until.Rounds:
		return true
	case r.until.Best:
		best := r.Best()
		return r.unsound() || best.Winner >= 0 || len(best.Left) == 0 || len(best.Left)+len(best.Out) < 2
	case r.until.Rounds > 0:
		return r.until.Held && len(r.live) == 0
	}
	return r.unsound() || len(r.live) == 0 && (r.controlled() || !r.waits())
}

// beaten reports whether a cell cannot be the best.
func (r *Judge) beaten(cell int) bool {
	_, out := r.contest.out[cell]
	return out
}

// Best returns the best cell, as far as it is known. The design must look for it.
func (r *Judge) Best() Best { return r.contest.best(r.gone, r.apart()) }

// Scales reports whether the cell of a step is claimed to scale.
func (r *Judge) Scales() bool {
	return !r.unsound() && r.ends(r.comparisons[1-r.design.Baseline]).step(r.design.Step.scale(r.design.Margin)) == Scales
}

// waits reports whether a comparison would be "no difference" if the control's interval were narrow enough.
func (r *Judge) waits() bool {
	return r.design.Step == nil && slices.ContainsFunc(r.all(), func(c comparison) bool { return c.typical.ends().kind(r.design.Margin) == Same })
}

// Settled reports whether a cell is sampled enough, also for its contrasts.
func (r *Judge) Settled(cell int) bool {
	if !r.enough(r.comparisons[cell]) {
		return false
	}
	for i, c := range r.design.Contrasts {
		if (c.A == cell || c.B == cell) && !r.gone[c.A] && !r.gone[c.B] && !r.enough(r.contrasts[i]) {
			return false
		}
	}
	return true
}

// enough reports whether the typical ratio of a comparison is known. That there is no difference is known only once the total was looked
// at and does not contradict it; so is a difference if the design does not answer.
func (r *Judge) enough(c comparison) bool {
	if r.until.Rounds > 0 {
		return false
	}
	e, certain := c.typical.ends(), r.ends(c)
	narrow := e.Hi <= e.Lo*(1+r.design.Precision)
	if step := r.design.Step; step != nil {
		return certain.step(step.scale(r.design.Margin)) != CantTell || narrow && r.differs()
	}
	if r.until.Answers && certain.differs() && (narrow || e.answers()) {
		return true
	}
	return c.total.looks > 0 && (narrow || e.within(r.design.Margin)) && !r.doubtful(c)
}

// answers reports whether an interval is narrow for the size of the difference that it shows: at most a quarter as wide as its nearer end is
// far from 1, in logarithms. 5.2 to 6.5 times is, and so is 1.20 to 1.25.
func (e Effect) answers() bool {
	nearer := max(math.Log(e.Lo), -math.Log(e.Hi))
	return math.Log(e.Hi/e.Lo) <= nearer/4
}

// doubtful reports whether a verdict of "no difference" would hide a probable difference of the total.
func (r *Judge) doubtful(c comparison) bool {
	return c.typical.ends().kind(r.design.Margin) == Same && c.total.differs(r.design.Margin)
}

// Verdicts returns the verdict on every cell, in the order of the design; the baseline's is empty. roundSeconds is the
// time that a round takes, for forecasts; 0 if it is not known.
func (r *Judge) Verdicts(roundSeconds float64) []Verdict {
	verdicts := make([]Verdict, len(r.design.Cells))
	for cell := range verdicts {
		if cell != r.design.Baseline {
			verdicts[cell] = r.foresee(r.comparisons[cell]).Taking(roundSeconds)
		}
	}
	return verdicts
}

// Found returns the verdicts without forecasts, which take longer.
func (r *Judge) Found() []Verdict {
	verdicts := make([]Verdict, len(r.design.Cells))
	for cell := range verdicts {
		if cell != r.design.Baseline {
			verdicts[cell] = r.verdict(r.comparisons[cell])
		}
	}
	return verdicts
}

// Contrasts returns the verdicts on the contrasts, in the order of the design.
func (r *Judge) Contrasts(roundSeconds float64) []Verdict {
	verdicts := make([]Verdict, len(r.contrasts))
	for i, c := range r.contrasts {
		verdicts[i] = r.foresee(c).Taking(roundSeconds)
	}
	return verdicts
}

// measured returns the verdict that follows from the two effects of a comparison alone.
func (r *Judge) measured(c comparison) Verdict {
	v := r.design.open(len(c.typical.rounds))
	v.Typical = c.effect()
	if c.total.looks > 0 {
		v.Total = new(c.total.effect())
		v.Doubt = !v.Total.differs() && c.total.differs(v.Margin)
	}
	v.Kind = v.judged()
	return v
}

// verdict judges a comparison by its two effects, which are less certain if the baseline differs from its duplicate. A claim of a difference
// does not need a narrow control: a wide one only makes such claims rarer.
func (r *Judge) verdict(c comparison) Verdict {
	v := r.measured(c)
	if step := r.design.Step; step != nil {
		v.Scale, v.Total, v.Doubt = step.scale(r.design.Margin), nil, false
	}
	v.Typical = r.design.grid().wider(v.Typical, r.apart())
	if v.Total != nil {
		*v.Total = r.design.grid().wider(*v.Total, r.apart())
	}
	v.Kind = v.judged()
	switch {
	case r.unsound(), r.differs() && v.Kind == CantTell:
		v.Kind = CantTell
		v.Reason = "the baseline differs from its own duplicate: " + v.control(r.control())
	case v.Typical.Lo > v.Typical.Hi:
		v.Kind = CantTell
		v.Reason = "the ratio to the baseline changed during the run"
	case v.Kind == Same && r.doubtful(c):
		v.Kind = CantTell
		v.Reason = v.uncertainTotal(c.total.ratio())
	case v.Kind == Same && !r.controlled():
		v.Kind = CantTell
		v.Reason = "the control is not settled yet"
		if r.control().typical.ends().Bounded() {
			v.Reason += ": " + v.control(r.control())
		}
	}
	return v
}

// foresee returns the verdict on a comparison, with a forecast where more rounds may decide it.
func (r *Judge) foresee(c comparison) Verdict {
	v := r.verdict(c)
	switch {
	case v.Kind != CantTell || r.differs() || v.Typical.Lo > v.Typical.Hi || r.until.Best:
	case r.design.Step != nil:
		v.Forecast = r.stepForecast(c)
	case r.doubtful(c):
		v.Forecast = c.total.forecast()
	default:
		v.Forecast = r.forecast(c)
	}
	return v
}
