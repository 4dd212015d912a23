package run

import (
	"context"
	"errors"
	"fmt"
	"math"
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
