package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/sample/take"
	"gorun/internal/start/launch"
)

// SampleCommand is the command of a child that samples one cell.
const SampleCommand = "sample"

// childRequest asks a child for samples of a resolved cell, so that the child needs no flags, topology or host.
type childRequest struct {
	Experiment string          `json:"experiment"`
	Do         json.RawMessage `json:"do"`
	CPUs       cpuset.Set      `json:"cpus"`
	Inherited  cpuset.Set      `json:"inherited"` // the CPUs that the child is started with
	Threads    int             `json:"threads"`
	GOMAXPROCS int             `json:"gomaxprocs"`
	Seed       uint64          `json:"seed"`
	Samples    int             `json:"samples"`
	Warmup     matrix.Warmup   `json:"warmup"`
	Budget     float64         `json:"budget_seconds"`
}

// childAnswer is the answer of a child.
type childAnswer struct {
	Samples  []result.Sample  `json:"samples"`
	Warnings []result.Warning `json:"warnings"`
}

// Child runs a child that samples a cell: it reads the request from in and writes the answer to out.
func Child(ctx context.Context, experiments []experiment.Experiment, in io.Reader, out io.Writer) error {
	return launch.Answer(ctx, in, out, func(ctx context.Context, r childRequest) (childAnswer, error) {
		return r.sample(ctx, experiments)
	})
}

// sample takes the requested samples.
func (r childRequest) sample(ctx context.Context, experiments []experiment.Experiment) (a childAnswer, err error) {
	x, err := experiment.Find(experiments, r.Experiment)
	if err != nil {
		return a, err
	}
	do, err := x.Decode(r.Do)
	if err != nil {
		return a, err
	}
	if r.Threads > 0 {
		take.AllowThreads(r.Threads) // the parent made sure that the kernel allows them
	}
	restore, err := take.Confine(r.CPUs, r.Inherited, r.GOMAXPROCS)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, restore()) }()
	watcher, warnings := measure.OpenWatcher(sysfs.This(), r.CPUs, r.Threads)
	defer func() { err = errors.Join(err, watcher.Close()) }()
	t := take.Taker{Cells: []any{do}, Watcher: watcher}
	if t.Sampler, err = x.Open(experiment.Environment{Environ: os.Environ(), Seed: r.Seed}, t.Cells); err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	prepared, err := t.Prepare(ctx)
	if err != nil {
		return a, err
	}
	a.Warnings = append(warnings, prepared...)
	// The canary shows how fast the CPU was before the cell's own work, which leaves threads and garbage behind.
	canary := measure.Canary()
	for range r.Warmup.Executions {
		if err := t.WarmUp(ctx, 0, r.Warmup.Seconds); err != nil {
			return a, err
		}
	}
	begun := time.Now()
	for i := range r.Samples {
		if r.Budget > 0 && i > 0 && time.Since(begun).Seconds() >= r.Budget {
			break
		}
		sample, err := t.Take(ctx, 0)
		if ctx.Err() != nil {
			return a, ctx.Err()
		}
		if err != nil {
			sample = result.InvalidSample(err)
		}
		a.Samples = append(a.Samples, sample)
	}
	if r.Warmup.Executions > 0 {
		a.Samples[0].Quality.Signals.CanarySeconds = &canary
	}
	return a, nil
}

// ask makes a fresh child sample a cell.
func (d *driver) ask(
	ctx context.Context, cell, samples int, warmup matrix.Warmup, budget time.Duration,
) (a childAnswer, err error) {
	need := &d.needs[cell]
	if !need.checked {
		var warnings []result.Warning
		warnings, need.refusal = take.Enough(d.env.Root, need.Resources)
		need.checked = true
		warn(d.session.run, warnings)
	}
	if need.refusal != nil {
		return a, need.refusal
	}
	do, err := json.Marshal(d.cells[cell].Do)
	if err != nil {
		return a, err
	}
	request := childRequest{
		Experiment: d.x.Name, Do: do, CPUs: need.cpus, Inherited: d.machine.Allowed(), Threads: need.Threads,
		GOMAXPROCS: need.GOMAXPROCS, Seed: d.session.run.Seed, Samples: samples, Warmup: warmup, Budget: budget.Seconds(),
	}
	_, err = d.self().Ask(ctx, []string{SampleCommand}, request, &a)
	return a, err
}

// self returns how a child is started. Its environment has only the variables that the fingerprint names.
func (d *driver) self() launch.Self {
	environ := measure.Environment(d.env.Environ())
	for _, name := range []string{"PATH", "HOME"} {
		if value, found := os.LookupEnv(name); found {
			environ = append(environ, name+"="+value)
		}
	}
	return d.env.Self.In(environ)
}

// sampleInChild takes one sample of a cell by a fresh child, after the warm-ups of the matrix in the same process. A
// failure of the process makes the sample invalid.
func (d *driver) sampleInChild(ctx context.Context, cell int) (result.Sample, error) {
	m := d.session.run.Matrix
	warmup := matrix.Warmup{Executions: m.Warmup, Seconds: m.WarmupSeconds}
	a, err := d.ask(ctx, cell, 1, warmup, 0)
	if err == nil && len(a.Samples) != 1 {
		err = fmt.Errorf("its process took %d samples instead of one", len(a.Samples))
	}
	if err != nil {
		return result.InvalidSample(err), nil
	}
	d.warn(a.Warnings)
	return a.Samples[0], nil
}

func (d *driver) warn(warnings []result.Warning) { warn(d.session.run, warnings) }

// warn adds those warnings that the result does not have yet.
func warn(run *result.Run, warnings []result.Warning) {
	for _, w := range warnings {
		if !slices.Contains(run.Warnings, w) {
			run.Warnings = append(run.Warnings, w)
		}
	}
}

// pilot finds the number of executions that a matrix drops, unless a flag gives it: within a tenth of the budget, as
// many as the baseline's process needs to become warm. If a part of one execution is enough, that is cut short. An
// experiment that starts processes executes the baseline once instead: each process is fresh, and only the page cache
// stays warm. It returns the seconds that a sample takes after it; if it was cut, the seconds so far.
func (d *driver) pilot(ctx context.Context) (each float64, err error) {
	run := d.session.run
	if run.Matrix == nil || run.Matrix.Warmup >= 0 {
		return 0, nil
	}
	cannot := func(err error) error {
		if err == nil || errors.Is(err, take.ErrEndless) {
			return err
		}
		return noBaseline(err)
	}
	baseline := run.Matrix.Baseline
	if !d.fresh() {
		run.Matrix.Warmup = 0
		begun := d.env.Now()
		err := retry(ctx, func() error {
			begun = d.env.Now()
			warmup, err := d.takeSample(ctx, baseline)
			if err == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				err = ctx.Err() // after an interrupt, the run is shown without samples
			}
			if err == nil && warmup.Quality.Grade == result.Invalid && ctx.Err() == nil {
				err = spoilt(warmup)
			}
			run.Warmups = []result.Sample{warmup}
			return err
		})
		return d.env.Now().Sub(begun).Seconds(), cannot(err)
	}
	figures, err := matrix.Comparands(run, d.x.Columns)
	if err != nil {
		return 0, err
	}
	found, err := matrix.Pilot(d.options.budget/10,
		func(warmup matrix.Warmup, samples int, budget time.Duration) (executions []matrix.Execution, err error) {
			var a childAnswer
			err = retry(ctx, func() (err error) {
				a, err = d.ask(ctx, baseline, samples, warmup, budget)
				return err
			})
			for _, s := range a.Samples {
				executions = append(executions, matrix.Execution{Compared: figures[0].Of(&s), Seconds: s.Seconds})
				each = s.Seconds
			}
			return executions, err
		})
	run.Matrix.Warmup, run.Matrix.WarmupSeconds = found.Executions, found.Seconds
	if found.Seconds > 0 {
		return each + found.Seconds, cannot(err)
	}
	return each * float64(1+found.Executions), cannot(err)
}

func noBaseline(err error) error { return fmt.Errorf("the baseline cannot be measured: %w", err) }

// spoilt is the error of an invalid sample: its first reason, and what to do about that.
func spoilt(s result.Sample) error {
	err := errors.New(s.Quality.Reasons[0])
	for _, d := range s.Doubts {
		if d.Reason == err.Error() {
			return hint.With(err, d.Hint)
		}
	}
	return err
}

// retry calls try until it succeeds, at most as often as a cell is tried before it is given up.
func retry(ctx context.Context, try func() error) (err error) {
	for range matrix.GivenUpAfter {
		if err = try(); err == nil || ctx.Err() != nil || errors.Is(err, take.ErrEndless) {
			return err
		}
	}
	return err
}
