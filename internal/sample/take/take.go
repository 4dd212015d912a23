// Package take takes samples: it executes a cell once, watches what disturbs the execution, and records its quality. Every run, every
// child of a run and every visit of a fleet takes its samples by it.
package take

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
)

// Taker executes cells, in this process or in processes that it starts, and records what disturbed each execution.
type Taker struct {
	experiment.Sampler[any]
	Cells   []any // what each cell does
	Watcher *measure.Watcher
	Command bool                     // a cell is the user's command
	Units   func() map[string]string // of the run, by column; nil: they are not known
	Limit   time.Duration            // after which the user's command is ended, until one has ended by itself; 0: none
	Ends    bool                     // an execution of the user's command has ended by itself
	Worked  float64                  // CPU seconds that this process used during the executions, before and after which a sample is watched

	cut bool // the last one was ended
}

// ErrEndless is the reason why a command whose first execution lasts too long is not measured.
var ErrEndless = errors.New("the command did not end")

// Confine restricts this process to its CPUs, and sets GOMAXPROCS; 0 leaves it to the runtime if the CPUs are the
// inherited ones. restore undoes both. It returns an error if the process may no longer use the CPUs.
func Confine(cpus, inherited cpuset.Set, procs int) (restore func() error, err error) {
	back := func() error { return nil }
	is, unread := linux.GetAffinity(0)
	if asked := !cpus.Equal(inherited); asked || unread == nil && !is.Equal(cpus) {
		if back, err = placement.Confine(cpus); err != nil {
			return nil, err
		}
		if procs == 0 && asked {
			procs = cpus.Len()
		}
	}
	// Setting it, even to the same value, keeps the runtime from changing it when threads are pinned.
	before := runtime.GOMAXPROCS(0)
	if procs == 0 {
		procs = before
	}
	runtime.GOMAXPROCS(procs)
	return func() error {
		runtime.GOMAXPROCS(before)
		return back()
	}, nil
}

// Prepare has the sampler do its slow work before the first sample.
func (t *Taker) Prepare(ctx context.Context) ([]result.Warning, error) {
	p, ok := experiment.Part[experiment.Preparer](t.Sampler)
	if !ok {
		return nil, nil
	}
	return p.Prepare(ctx)
}

// Take executes a cell once, and calls the sampler's hooks before and after it. Each execution, be it a pilot, a warm-up or a sample,
// begins here, and none does once ctx has ended.
func (t *Taker) Take(ctx context.Context, cell int) (sample result.Sample, err error) {
	if err := ctx.Err(); err != nil {
		return sample, err
	}
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = ctx.Err() // it failed because it was ended
		}
	}()
	if hooked, ok := t.Sampler.(experiment.Hooked[any]); ok {
		defer func() { err = cmp.Or(err, hooked.After(ctx, t.Cells[cell])) }()
		if err := hooked.Before(ctx, t.Cells[cell]); err != nil {
			return sample, err
		}
	}
	finish := t.Watcher.Watch()
	if sample, err = t.execute(ctx, cell); err != nil {
		return sample, err
	}
	if t.Units != nil {
		if err := sample.In(t.Units()); err != nil {
			sample.Doubts = append(sample.Doubts, result.Doubt{Grade: result.Invalid, Reason: err.Error(), Hint: hint.Of(err)})
		}
	}
	if sample.Quality.Grade != result.Invalid { // an invalid sample is not judged
		finish(&sample)
	}
	sample.RoundSeconds()
	return sample, nil
}

// Endless reports whether the last execution of the user's command was ended, and none has ended by itself.
func (t *Taker) Endless() bool { return t.cut && !t.Ends }

// execute executes a cell. If the machine's CPUs change meanwhile, it is no longer the requested execution and ends: two processes
// that wait for each other by spinning, for example, take a thousand times as long on the only CPU left. The user's command is not
// ended for that.
func (t *Taker) execute(ctx context.Context, cell int) (sample result.Sample, err error) {
	cut, cancel := context.WithCancel(ctx)
	if t.Limit > 0 && !t.Ends {
		cut, cancel = context.WithTimeout(ctx, t.Limit)
	}
	defer cancel()
	machine := placement.WatchMachine(func() {
		if !t.Command {
			cancel()
		}
	})
	used := linux.CountUsage()
	sample, err = t.Sample(cut, t.Cells[cell])
	if usage, err := used(); err == nil {
		t.Worked += usage.UserSeconds + usage.SystemSeconds
	}
	_, changes := machine.End()
	if t.Command {
		t.cut = cut.Err() != nil
		if t.Ends = t.Ends || !t.cut; t.cut && ctx.Err() == nil {
			return sample, ErrEndless
		}
	}
	ended := ctx.Err() == nil && cut.Err() != nil
	if ended {
		sample.Partial = false // the run continues: the sample ended because of a mismatch
	}
	switch {
	case len(changes) == 0:
	case err != nil && ended:
		err = errors.New(strings.Join(changes, ", "))
	case err != nil:
		err = fmt.Errorf("%s during the sample: %w", strings.Join(changes, ", "), err)
	case sample.Quality.Grade == result.Invalid:
		sample.Quality.Reasons = append(changes, sample.Quality.Reasons...)
	default:
		sample.Placement.Verified = false
		sample.Placement.Mismatches = append(changes, sample.Placement.Mismatches...)
	}
	return sample, err
}

// WarmUp executes a cell once, unwatched, and cuts it after this time; 0: no limit.
func (t *Taker) WarmUp(ctx context.Context, cell int, seconds float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cut, cancel := context.WithCancel(ctx)
	if seconds > 0 {
		cut, cancel = context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
	}
	defer cancel()
	_, err := t.Sample(cut, t.Cells[cell])
	if ctx.Err() == nil && cut.Err() != nil {
		return nil // an error, if any, comes from the cut
	}
	return err
}
