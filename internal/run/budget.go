package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/base/units"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
	"gorun/internal/sample/take"
)

// errCut is the reason why a sample that the budget cut short is not judged.
var errCut = errors.New("the budget ended during the sample")

// within returns a context that ends when what is left of a budget that was given has passed, or the duration in
// seconds (0: none).
func (d *driver) within(ctx context.Context, duration float64) (context.Context, context.CancelFunc) {
	seconds := math.Inf(1)
	if duration > 0 {
		seconds = duration
	}
	if o := d.options; o.budgeted && o.budget > 0 {
		seconds = max(0, min(seconds, o.budget.Seconds()-d.before-d.spent))
	}
	if math.IsInf(seconds, 1) {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
}

// endless returns the error of a user's command whose first execution did not end within the budget.
func (d *driver) endless() error {
	budget := fmt.Sprintf("--budget %v", d.options.budget)
	if !d.options.budgeted {
		budget = fmt.Sprintf("the default budget, %v", d.options.budget)
	}
	return hint.Usage(hint.With(fmt.Errorf("%w within %s", take.ErrEndless, budget),
		"if it ends by itself, "+d.enoughFor(d.options.budget.Seconds()*d.round())+"; if it does not, have each execution ended by --timeout, or see gorun help server"))
}

// ended returns the error of work before the first sample that failed with err, or was ended with cut, by the budget or
// by an interrupt.
func (d *driver) ended(ctx, cut context.Context, what, remedy string, err error) error {
	unfinished := (*experiment.Unfinished)(nil)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ErrInterrupted
	case errors.As(err, &unfinished):
		if remedy = unfinished.Hint; unfinished.Whole > 0 {
			remedy = d.enoughForVerdict(unfinished.Whole.Seconds(), unfinished.Each.Seconds())
		}
		return hint.Usage(hint.With(fmt.Errorf("--budget %v %s", d.options.budget, unfinished.What), remedy))
	case errors.Is(err, take.ErrEndless), cut.Err() != nil && d.taker.Endless():
		return d.endless()
	case cut.Err() != nil:
		return hint.Usage(hint.With(fmt.Errorf("--budget %v ended during %s", d.options.budget, what), remedy))
	}
	return err
}

// preparation names what precedes the pilot.
func (d *driver) preparation() string {
	if d.x.TakesCommand {
		return "--setup"
	}
	return "the preparation"
}

// longer is the advice after a preparation that the budget ended: how long it would take is not known.
const longer = "give a longer --budget, or do this work before gorun begins"

// enoughFor returns the advice to give a budget that holds this many seconds, which is more than the one given.
func (d *driver) enoughFor(seconds float64) string {
	text := "give --budget " + typed(1.1*max(seconds, d.options.budget.Seconds())) + " or more"
	if d.session.begun && d.journal.Regular() {
		text += ", and --resume"
	}
	return text
}

// enoughForVerdict returns the advice to give a budget in which each cell of a comparison has an interval, if its samples all take as
// long as each. before is the time of what precedes them.
func (d *driver) enoughForVerdict(before, each float64) string {
	if b, judged := d.order.(*matrix.Blocks); judged {
		before += float64(cmp.Or(b.Samples, b.ToFirst())) * each * d.round()
	}
	return d.enoughFor(before)
}

// round returns the number of samples in a round of a comparison; 0 of other runs.
func (d *driver) round() float64 {
	if b, judged := d.order.(*matrix.Blocks); judged {
		return float64(b.Round())
	}
	return 0
}

// holdsRound returns an error if a budget that was given cannot hold the first round of a comparison whose samples all
// take as long as the pilot's, each. before is the time of what precedes them.
func (d *driver) holdsRound(before, each float64) error {
	o := d.options
	least := before + each*d.round()
	if !o.budgeted || o.budget == 0 || least <= o.budget.Seconds() {
		return nil
	}
	return hint.Usage(hint.With(fmt.Errorf("--budget %v cannot hold one round: %.3g s before it, and %v samples of about %.3g s each",
		o.budget, before, d.round(), each), d.enoughForVerdict(before, each)))
}

// tellFewRounds says before the first sample that the budget ends before any cell has an interval, if each sample takes as long as
// the pilot's. before is the time of what precedes them, which counts for a budget that was given.
func (d *driver) tellFewRounds(before, each float64) {
	o := d.options
	b, judged := d.order.(*matrix.Blocks)
	if !judged || b.Samples > 0 || o.budget == 0 || o.quiet || each == 0 {
		return
	}
	left, round := o.budget.Seconds(), each*d.round()
	if o.budgeted {
		left -= before
	}
	held, need := max(1, int(left/round)), b.ToFirst()
	if held < need {
		d.env.warn(result.Warning{
			Message: fmt.Sprintf("the budget of %v holds about %s, and %d come before any verdict", o.budget, units.Things(held, "round"), need),
			Hint:    d.enoughForVerdict(before, each),
		})
	}
}

// heldRound returns an error if the budget ended in the first round of a comparison, which has no result then. The budget
// that it names also holds the sample that was cut, which a resumed run takes again; it is a lower bound, because nobody
// knows how long that sample would have taken.
func (d *driver) heldRound() error {
	b, judged := d.order.(*matrix.Blocks)
	switch {
	case !judged || !d.options.budgeted || d.session.run.Partial || b.Rounds() > 0 || b.Done():
		return nil
	case d.taker.Endless():
		return d.endless()
	}
	taken, elapsed := float64(b.Taken()), d.elapsed()
	return hint.Usage(hint.With(
		fmt.Errorf("--budget %v ended after %v of %v samples of the first round", d.options.budget, taken, d.round()),
		d.enoughFor(d.spent+elapsed+elapsed/(taken+1)*(d.round()-taken))))
}

// typed returns at least this many seconds, as a person would type them: 300ms, 12s, 1m30s.
func typed(seconds float64) string {
	step := 0.1
	for _, s := range []struct{ from, step float64 }{{1, 1}, {20, 5}, {60, 30}, {600, 60}, {3600, 600}} {
		if seconds > s.from {
			step = s.step
		}
	}
	whole := time.Duration(math.Round(math.Ceil(seconds/step)*step*1000)) * time.Millisecond
	text := whole.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}
