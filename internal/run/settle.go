package run

import (
	"math/rand/v2"
	"time"

	"gorun/internal/experiment"
	"gorun/internal/judge/journal"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
)

// What the flags of a run leave open is settled here, once: the seed, and how many samples are taken in what time. A flag that is given
// decides; then the file or the preset of a matrix, or the schedule of an experiment; then the default. The default budget does not cut
// what was asked for: a number of samples, or a duration.

// settleBudget lifts a budget that was not given if something was asked for that it would cut.
func (o *Options) settleBudget(asked bool) {
	o.budgeted = o.given("budget")
	if asked && !o.budgeted {
		o.budget = 0
	}
}

// settleSchedule settles a plain run by the schedule of its experiment.
func (o *Options) settleSchedule(s *matrix.Schedule) {
	open := s.Order == matrix.RandomBlocks && !o.given("samples") && (s.Open || o.given("precision"))
	if s.Budget > 0 && !o.given("budget") && !o.given("samples") {
		o.budget = time.Duration(s.Budget * float64(time.Second))
	}
	if s.Samples > 0 && !open && !o.given("samples") {
		o.samples = s.Samples
		o.settleBudget(true) // as with --samples
	}
	o.settleBudget(s.Duration > 0)
	switch {
	case s.Order == matrix.Pairs:
		s.Samples = len(s.First)
	case open:
		s.Samples = 0
	default:
		s.Samples = o.samples
	}
}

// settleSpec settles a matrix by its file or preset.
func (o *Options) settleSpec(spec matrix.Spec) {
	take := func(flag string, known bool, set func()) {
		if known && !o.given(flag) {
			set()
		}
	}
	take("budget", spec.Budget > 0, func() { o.budget = spec.Budget })
	take("samples", spec.Samples != nil, func() { o.samples = *spec.Samples })
	take("warmup", spec.Warmup != nil, func() { o.warmup = *spec.Warmup })
	take("precision", spec.Precision != nil, func() { o.precision, o.precise = experiment.Share(*spec.Precision), true })
	take("margin", spec.Margin != nil, func() { o.margin = experiment.Share(*spec.Margin) })
	take("seed", spec.Seed != nil, func() { o.seed, o.drawn = *spec.Seed, false })
	o.settleBudget(o.samples > 0)
	o.budgeted = o.budgeted || spec.Budget > 0 && o.budget > 0
}

// ends returns when a run ends that takes this number of samples of each cell; 0: as many as the question needs.
func (o *Options) ends(samples int) result.End {
	end := result.End{Samples: samples, Enough: result.EnoughAnswer}
	if o.precise || o.given("precision") {
		end.Enough = result.EnoughPrecision
	}
	if o.best {
		end.Enough = result.EnoughBest
	}
	if !o.untilPrecision {
		end.FailOn = o.failOn.String()
	}
	return end
}

// settleSeed draws a seed if there is none. A resumed run has that of its journal. A drawn seed has 32 bits, so that it is short to
// type, and exact in JSON readers that use floating-point numbers.
func (o *Options) settleSeed() {
	if o.given("seed") {
		return
	}
	o.seed, o.drawn = uint64(rand.Uint32()), true
	if header := o.header(); header != nil {
		o.seed = header.Seed
	}
}

// header returns the header of the run that is continued; nil: none is. An error in reading it is reported when the journal is opened.
func (o *Options) header() *result.Run {
	if !o.resume {
		return nil
	}
	header, err := journal.ReadHeader(o.out)
	if err != nil {
		return nil
	}
	return header
}

// recorded returns the cells of the run that is continued.
func (o *Options) recorded() []result.Cell {
	if header := o.header(); header != nil {
		return header.Cells
	}
	return nil
}

// limit returns the time after which the user's command is ended, until an execution has ended by itself: a server, for example, does
// not. It is the default budget. With --samples, --timeout or a budget, or without one, the user set the limit: 0.
func (o *Options) limit() time.Duration {
	if o.budgeted || o.given("timeout") {
		return 0
	}
	return o.budget
}
