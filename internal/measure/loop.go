// Package measure takes samples: it repeats an experiment, drops the warm-up, keeps to a budget, and puts on every
// sample what disturbed it and whether it can be trusted.
package measure

import (
	"context"
	"time"

	"gorun/internal/result"
)

// Body executes the experiment once. When ctx ends it returns soon, with what was done marked partial.
type Body func(ctx context.Context) (result.Sample, error)

// Loop says how many samples are taken.
type Loop struct {
	Samples  int           // how many; ignored with Duration
	Warmup   int           // taken first and not summarised
	Budget   time.Duration // no sample begins after this time; 0: no limit
	Duration time.Duration // samples follow each other until this time is over, and the last one is cut; 0: off

	Now   func() time.Time            // time.Now, but for tests
	Watch func() func(*result.Sample) // called before each sample; what it returns adds the quality afterwards
	Keep  func(result.Sample) error   // stores each finished sample; its error ends the loop
}

// Outcome is what a loop took.
type Outcome struct {
	Samples  []result.Sample
	Warmups  []result.Sample
	Warnings []result.Warning
	Partial  bool // ctx ended first
}

// Run takes the samples. It returns what it has with every error. The budget and the duration count from the first
// call of the body; the first sample is always taken, and a warm-up that used up the budget is kept as the sample.
func (l Loop) Run(ctx context.Context, body Body) (out Outcome, err error) {
	begun := l.Now()
	cut := ctx
	if l.Duration > 0 {
		var cancel context.CancelFunc
		cut, cancel = context.WithTimeout(ctx, l.Duration)
		defer cancel()
	}
	over := func() bool {
		return l.Budget > 0 && l.Now().Sub(begun) >= l.Budget || cut.Err() != nil
	}
	for range l.Warmup {
		sample, err := l.take(cut, body)
		if err != nil {
			return out, err
		}
		if over() || ctx.Err() != nil {
			out.Partial = ctx.Err() != nil
			if !out.Partial {
				out.Warnings = append(out.Warnings, result.Warning{
					Code:    "no-warmup",
					Message: "the first execution used up the time, so it is the sample and no warm-up was dropped",
					Hint:    "give --samples, or a longer --budget or --duration",
				})
			}
			return out, l.keep(&out, sample)
		}
		out.Warmups = append(out.Warmups, sample)
	}
	for l.Duration > 0 || len(out.Samples) < l.Samples {
		if len(out.Samples) > 0 && over() {
			break
		}
		sample, err := l.take(cut, body)
		if err == nil {
			err = l.keep(&out, sample)
		}
		if err != nil {
			return out, err
		}
		if cut.Err() != nil {
			break
		}
	}
	out.Partial = ctx.Err() != nil
	if l.Duration == 0 && !out.Partial && len(out.Samples) < l.Samples {
		out.Warnings = append(out.Warnings, result.Warning{
			Code:    "budget",
			Message: "the budget ended before all samples were taken",
			Hint:    "give --samples for a fixed number, or a longer --budget",
		})
	}
	return out, nil
}

// take executes the body once, and has its quality judged.
func (l Loop) take(ctx context.Context, body Body) (result.Sample, error) {
	finish := l.Watch()
	sample, err := body(ctx)
	if err == nil {
		finish(&sample)
	}
	return sample, err
}

func (l Loop) keep(out *Outcome, sample result.Sample) error {
	sample.Index = len(out.Samples)
	out.Samples = append(out.Samples, sample)
	return l.Keep(sample)
}
