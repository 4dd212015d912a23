package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"gorun/internal/hint"
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

// ended returns the error of work before the first sample that failed with err, or was ended with cut, by the budget or
// by an interrupt.
func (d *driver) ended(ctx, cut context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ErrInterrupted
	case cut.Err() != nil:
		return hint.Usage(hint.With(fmt.Errorf("--budget %v ended during %s", d.options.budget, what), "give a longer --budget, or less work"))
	}
	return err
}

// holdsRound returns an error if a budget that was given cannot hold the first round of a comparison whose samples all
// take as long as the pilot's, which took seconds: one execution of the user's command. Pilots of gorun's own work are not
// that.
func (d *driver) holdsRound(seconds float64) error {
	b, judged := d.order.(*blocks)
	o := d.options
	if !judged || d.fresh || !d.matrix || o.warmup >= 0 || !o.budgeted || o.budget == 0 {
		return nil
	}
	samples := b.board.Round()
	least := seconds * float64(samples+1)
	if least <= o.budget.Seconds() {
		return nil
	}
	return hint.Usage(hint.With(
		fmt.Errorf("--budget %v cannot hold one round: a pilot and %d samples, of about %.3g s each", o.budget, samples, seconds),
		"give --budget "+typed(1.1*least)+" or more"))
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
