package run

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"gorun/internal/cpuset"
	"gorun/internal/doctor"
	"gorun/internal/experiment"
	"gorun/internal/linux"
	"gorun/internal/measure"
	"gorun/internal/metrics"
	"gorun/internal/output"
	"gorun/internal/placement"
	"gorun/internal/render/chart"
	"gorun/internal/render/term"
	"gorun/internal/result"
)

// driver executes a plan.
type driver struct {
	plan
	*session
	options *Options
	order   schedule
	// takeSample takes one sample of a cell. An error makes the sample invalid.
	takeSample func(ctx context.Context, cell int) (result.Sample, error)
	taker      taker         // of this process; it has no sampler if the plan is fresh
	stops      measure.Stops // of this process, if the plan is fresh
	running    atomic.Int64  // the cell that is being sampled
	sampled    []int         // the cell of each sample
	had        cpuset.Set    // CPUs of the run that this process could use when it began
	lacked     bool          // a wait for missing CPUs has failed
	fault      error         // the error of the latest sample that failed
	before     float64       // seconds that the run took before the resume
	begun      time.Time     // the samples
	spent      float64       // seconds of the budget that the preparation took

	drawStanding func(result.Standing) // nil: no display
	shown        time.Time             // when the standing was last computed
}

// drive executes a plan.
func drive(ctx context.Context, e Env, o *Options, p plan) (err error) {
	if !p.fresh {
		warnings, err := enough(e, p.resources)
		if err != nil {
			return err
		}
		warn(p.run, warnings)
	}
	d := &driver{plan: p, options: o, session: &session{env: e, run: p.run}}
	d.env.Show.Verbose, d.env.Progress.Verbose = o.verbose, o.verbose
	d.tally.begin(e.Now)
	d.tally.cpus = p.cpus.Len()
	within := p.cpus
	if p.x.Place != experiment.Here {
		within = within.Union(p.machine.Allowed()) // of a command that floats
	}
	d.tally.work.Taken.Relation = p.machine.OnlyRelation(within.List())
	d.tally.columns, d.tally.count = p.x.Columns, p.x.Count
	defer func() {
		if errors.Is(err, ErrInterrupted) {
			d.printResume()
		}
	}()
	defer d.close(&err)
	if err := d.checkOutputs(); err != nil {
		return err
	}
	if err := d.settle(); err != nil {
		return err
	}
	if err := d.open(ctx); err != nil {
		if ctx.Err() != nil {
			return ErrInterrupted
		}
		return err
	}
	if d.passed {
		ctx = context.WithoutCancel(ctx)
	}
	if is, err := linux.GetAffinity(os.Getpid()); err == nil {
		d.had = is.Intersect(d.cpus)
	}
	stop := d.showPreparing()
	err = d.prepare(ctx)
	stop()
	if err != nil {
		if ctx.Err() != nil {
			return ErrInterrupted
		}
		return err
	}
	if err := d.sample(ctx); err != nil {
		return err
	}
	d.judge()
	if err := d.heldRound(); err != nil {
		return worseOutcome(err, d.endJournal(o))
	}
	status := d.end()
	d.x.Explain(d.session.run, d.cellContents())
	return cmp.Or(d.finish(ctx, o), d.outcome(status))
}

// checkOutputs returns an error if two outputs are the same file, or stdout cannot be written. If stdout is used by
// another output or by the command, the result goes to stderr.
func (d *driver) checkOutputs() error {
	d.files = output.Opener{Stdout: d.env.Stdout, Stderr: d.env.Stderr}
	outputs := []output.Named{d.options.journal(), d.options.picture(), d.options.textfileOutput()}
	for _, export := range d.options.exports() {
		outputs = append(outputs, export.Named)
	}
	outputs = slices.DeleteFunc(outputs, func(n output.Named) bool { return n.Path == "" })
	if err := d.files.Distinct(outputs...); err != nil {
		return err
	}
	if d.passed || slices.ContainsFunc(outputs, d.files.IsStdout) {
		d.env.Stdout, d.env.Show = d.env.Stderr, d.env.Progress
		return nil
	}
	return output.Check(d.env.Stdout)
}

// settle sets the CPUs and GOMAXPROCS of this process if it takes the samples itself, and adds the host and the tool to
// the result.
func (d *driver) settle() (err error) {
	run := d.session.run
	here := d.x.Place == experiment.Here && !d.fresh
	if here {
		restore, err := confine(d.cpus, d.machine.Allowed(), d.resources.GOMAXPROCS)
		if err != nil {
			return err
		}
		d.onClose(restore)
	}
	warn(run, result.OddMachine(d.machine.Warnings))
	var unread []result.Warning
	run.Host, unread = measure.ReadHost(d.env.Root, d.machine.Machine, d.env.Environ())
	run.Warnings = append(run.Warnings, unread...)
	run.Host.Conditions = doctor.Digest(doctor.Subject{
		Root: d.env.Root, Machine: d.machine.Machine, Host: run.Host,
	})
	if run.Matrix != nil {
		if run.Tool.SHA256, err = hashFile(d.env.Self.Path); err != nil {
			return err
		}
	}
	if d.fresh {
		return nil
	}
	var warnings []result.Warning
	if here {
		d.taker.watcher, warnings = measure.OpenWatcher(d.env.Root, d.cpus, d.resources.Threads)
	} else {
		d.taker.watcher, warnings = measure.OpenOutside(d.env.Root, d.cpus)
	}
	d.onClose(d.taker.watcher.Close)
	run.Warnings = append(run.Warnings, warnings...)
	return nil
}

// open opens every output, so that an output that cannot be written is an error before anything is measured, and the
// sampler.
func (d *driver) open(ctx context.Context) (err error) {
	draw := chart.MatrixSVG
	if d.x.Picture != nil && !d.design {
		draw = d.x.Picture.Draw
	}
	if err := d.openExport(ctx, d.options.picture(), draw); err != nil {
		return err
	}
	if err := d.openExports(ctx); err != nil {
		return err
	}
	live := d.tally.childWork
	if d.fresh {
		d.takeSample = d.sampleInChild
	} else {
		if d.taker.Sampler, err = d.x.Open(d.setting(), d.cellContents()); err != nil {
			return err
		}
		d.onClose(d.taker.Close)
		d.taker.cells, d.taker.words, d.taker.limit = d.cells, d.x.Words, d.options.limit()
		d.takeSample = d.takeHere
		if run := d.session.run; d.design && run.Host.ASLR == result.NoASLR {
			if _, varied := experiment.Part[experiment.Varied](d.taker.Sampler); varied {
				run.Matrix.Padding = mostPadding
			}
		}
		if of, ok := experiment.Part[experiment.Live](d.taker.Sampler); ok {
			live = of.Live
		}
		if d.x.Place == experiment.Here {
			live = ownSwitches(live)
		}
	}
	name := d.x.Name
	if d.design {
		name = "matrix " + name
	}
	info := metrics.Info{
		Experiment: name, Version: d.env.Tool.Version, Placement: d.placement, Method: d.labels.Method,
		Kernel: d.labels.Kernel, Dispatch: d.labels.Dispatch, Split: d.labels.Split, Run: d.options.runName(),
	}
	if err := d.openMetrics(ctx, d.options.metricsFlags, live, info); err != nil {
		return err
	}
	if err := d.openJournal(ctx, d.options); err != nil {
		return err
	}
	d.order, err = d.newOrder()
	return err
}

// openExports opens the files into which the result is also written.
func (d *driver) openExports(ctx context.Context) error {
	for _, export := range d.options.exports() {
		format, err := d.env.Views.Lookup(export.format)
		if err != nil {
			return err
		}
		write := func(w io.Writer, run *result.Run) error { return format.Write(w, run, term.Options{}) }
		if err := d.openExport(ctx, export.Named, write); err != nil {
			return err
		}
	}
	return nil
}

// setting returns the argument for opening the sampler.
func (d *driver) setting() experiment.Setting {
	s := experiment.Setting{
		Self: d.env.Self, Environ: d.env.Environ(), Seed: d.session.run.Seed,
		Passed: d.passed,
	}
	if d.machine != nil {
		s.Machine = d.machine.Machine
	}
	return s
}

// cellContents returns what each cell does.
func (d *driver) cellContents() []any {
	out := make([]any, len(d.cells))
	for i, cell := range d.cells {
		out[i] = cell.Do
	}
	return out
}

// newOrder makes the schedule. That of a resumed run continues after its samples.
func (d *driver) newOrder() (schedule, error) {
	o := d.options
	run := d.session.run
	names := make([]string, len(d.cells))
	for i, cell := range d.cells {
		names[i] = cell.Name
	}
	shared := design{
		cells: len(d.cells), samples: d.schedule.Samples, warmup: o.warmup, budget: o.budget.Seconds(),
		duration: d.schedule.Duration, seed: run.Seed, names: names,
	}
	if d.resumed == nil {
		return newSchedule(run, d.x.Columns, shared, d.schedule)
	}
	run.Matrix.Budget = o.budget.Seconds()
	for _, s := range run.Samples {
		d.taker.ends = d.taker.ends || !s.Partial
		d.tally.add(s)
	}
	board := d.resumed.Board()
	d.before = board.Elapsed()
	b := &blocks{design: shared, board: board}
	b.begun, b.last = board.LastRound()
	return b, nil
}

// prepare does the slow work before the first sample, and writes the header, which holds its results. In a matrix, its
// time counts for a budget that was given.
func (d *driver) prepare(ctx context.Context) error {
	d.tally.plan(d.order.course(), d.before)
	begun := d.env.Now()
	took := func() float64 { return d.env.Now().Sub(begun).Seconds() }
	if d.design && d.options.budgeted {
		defer func() {
			d.spent = took()
			d.order.spend(d.spent)
		}()
	}
	if d.resumed != nil {
		if _, more := d.order.next(d.before); !more {
			return nil // there is nothing to prepare for
		}
	}
	cut, cancel := d.within(ctx, 0)
	defer cancel()
	if err := d.ready(cut); err != nil || d.resumed != nil {
		return d.ended(ctx, cut, "--setup", longer, err)
	}
	each, err := d.pilot(cut)
	if err != nil {
		return d.ended(ctx, cut, "the pilot", d.enoughFor(took()+each*d.round()), err)
	}
	if err := d.holdsRound(took(), each); err != nil && ctx.Err() == nil {
		return err
	}
	d.tellFewRounds(took(), each)
	err = d.options.journal().Failed(d.journal.Write(result.Line{Header: d.session.run}))
	d.session.begun = err == nil
	return err
}

// ready prepares the sampler for its first sample.
func (d *driver) ready(ctx context.Context) error {
	if d.fresh {
		return nil
	}
	warnings, err := d.taker.prepare(ctx)
	if err == nil {
		d.warn(warnings)
	}
	return err
}

// takeHere takes a sample of a cell in this process, after the warm-ups of the design.
func (d *driver) takeHere(ctx context.Context, cell int) (sample result.Sample, err error) {
	dropped := 0
	if d.design {
		dropped = max(0, d.session.run.Matrix.Warmup)
	}
	for executed := 0; err == nil && executed <= dropped; executed++ {
		sample, err = d.taker.take(ctx, cell)
	}
	return sample, err
}

// sample takes the samples in order, until the schedule or ctx ends.
func (d *driver) sample(ctx context.Context) error {
	run := d.session.run
	defer d.showProgress()()
	judged := d.schedule.Order == experiment.Blocks || d.schedule.Order == experiment.Rows
	d.begun, run.Partial = d.env.Now(), false
	cut, cancel := d.within(ctx, d.schedule.Duration)
	defer cancel()
	if judged && !d.design {
		for range d.options.warmup {
			_, _ = d.takeSample(cut, 0) // an error will occur again in the samples
			if run.Partial = ctx.Err() != nil; run.Partial {
				return nil
			}
			if cut.Err() != nil {
				break
			}
		}
	}
	interrupted := func() bool { return ctx.Err() != nil && !d.schedule.Watch }
	complete := false
	for {
		slot, more := d.order.next(d.elapsed())
		if complete = !more; complete {
			break
		}
		if run.Partial = interrupted(); run.Partial {
			return nil
		}
		d.running.Store(int64(slot.Cell))
		d.showStanding()
		d.vary(slot)
		last := len(run.Samples) - 1
		d.awaitCPUs(cut, last >= 0 && run.Samples[last].Quality.Verdict == result.Invalid)
		sample, err := d.takeSample(cut, slot.Cell)
		if run.Partial = interrupted(); run.Partial && (judged || err != nil) {
			return nil // the sample in progress was cut short, and is useless
		}
		if err != nil && errors.Is(err, cut.Err()) {
			break
		}
		if errors.Is(err, errEndless) {
			return d.endless()
		}
		if err != nil && d.passed {
			return err // the user's command was not run at all
		}
		if err != nil {
			d.fault, sample = err, result.InvalidSample(err)
		}
		if cut.Err() != nil && judged && (sample.Partial || sample.Quality.Verdict == result.Invalid) {
			sample.Partial = true
			sample.Quality.Verdict, sample.Quality.Reasons = result.Invalid, []string{errCut.Error()}
		}
		slot.Elapsed = d.elapsed()
		if !d.order.check(&sample, slot.Elapsed) && !run.Partial {
			run.Warmups = append(run.Warmups, sample)
			d.tally.add(sample)
			if err := d.order.add(sample, slot.Elapsed); err != nil {
				return err
			}
			continue
		}
		sample.Index = len(run.Samples)
		if len(run.Cells) > 0 {
			sample.Slot = &slot
		}
		run.Partial = !d.keep(sample) || run.Partial
		d.sampled = append(d.sampled, slot.Cell)
		if err := d.order.add(sample, slot.Elapsed); err != nil {
			return err
		}
		if run.Partial || cut.Err() != nil {
			break
		}
	}
	if !complete && interrupted() { // possibly after the sample, while the journal was written
		run.Partial = true
	}
	if !run.Partial {
		d.warn(d.order.warnings())
	}
	return nil
}

// mostPadding is the size of a page: what lies further apart is in other lines of the cache, and in pages of its own.
const mostPadding = 4096

// vary has a sampler of the user's command use what the design gives to the next sample. Where addresses are fixed, the
// size of the environment and of the arguments decides where the stack begins, so that two commands could differ by their
// names. The padding is drawn for each sample on its own: what each cell gets then has the same distribution, in any order.
// The kernel aligns the stack to 16 bytes.
func (d *driver) vary(slot result.Slot) {
	of, ok := experiment.Part[experiment.Varied](d.taker.Sampler)
	if !ok || !d.design {
		return
	}
	v := experiment.Variation{Round: slot.Round}
	if run := d.session.run; run.Matrix.Padding > 0 {
		random := rand.New(rand.NewPCG(run.Seed, 1<<63+uint64(len(run.Samples))))
		v.Padding = 16 * (1 + random.IntN(run.Matrix.Padding/16))
	}
	of.Vary(v)
}

// patience is the time that a sample waits for missing CPUs.
const patience = 2 * time.Second

// awaitCPUs waits for missing CPUs of the run: often they are soon back, and without a wait a cell whose samples fail
// immediately would be given up first. After a wait that failed, it does not wait again until the CPUs have been back.
// failed reports whether the last sample is invalid: a CPU may then be in this process's mask, and no thread may be given it yet.
func (d *driver) awaitCPUs(ctx context.Context, failed bool) {
	if d.had.Empty() {
		return
	}
	there := func() bool {
		is, err := linux.GetAffinity(os.Getpid())
		return err != nil || d.had.Minus(is).Empty() && (!failed || placement.Usable(d.had))
	}
	for end := time.Now().Add(patience); !there(); time.Sleep(patience / 100) {
		failed = true
		if d.lacked || ctx.Err() != nil || time.Now().After(end) {
			d.lacked = true
			return
		}
	}
	d.lacked = false
}

// elapsed returns how long the run has taken, in seconds, including the time before a resume.
func (d *driver) elapsed() float64 { return d.before + d.env.Now().Sub(d.begun).Seconds() }

// judge adds verdicts and summaries to the result.
func (d *driver) judge() {
	run := d.session.run
	if run.Matrix != nil {
		d.shown = time.Time{}
		d.showStanding()
		d.order.judge()
		return
	}
	if d.schedule.Order == experiment.Turns {
		sortByCell(run.Samples, d.sampled)
	}
	if len(d.cells) == 1 && d.x.Datum == "" { // of wall time, if that is the figure
		run.Summary = result.Summarise(run.Samples)
	}
}

// end closes the sampler. It returns the error that the run ends with after its result has been shown.
func (d *driver) end() (status error) {
	e, ok := experiment.Part[experiment.Ender](d.taker.Sampler)
	if !ok {
		return nil
	}
	warnings, status := e.End()
	d.warn(warnings)
	return status
}

// sortByCell puts samples in the order of their cells, those of a cell in the order in which they were taken.
func sortByCell(samples []result.Sample, cells []int) {
	at := make([]int, len(samples))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return cells[a] - cells[b] })
	sorted := make([]result.Sample, len(samples))
	for i, j := range at {
		sorted[i] = samples[j]
	}
	copy(samples, sorted)
}

var errNothing = errors.New("no cell can be measured")
