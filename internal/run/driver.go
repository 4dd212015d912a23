package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
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
	"gorun/internal/shell"
)

// plan is a run before anything has been opened or measured.
type plan struct {
	x         experiment.Experiment
	machine   *machine
	cells     []experiment.Cell[any] // the cells that can be sampled, in the order of run.Cells if that is set
	cpus      cpuset.Set             // of all cells
	schedule  experiment.Schedule
	resources experiment.Resources
	labels    experiment.Labels
	placement string      // as flags, if it is the same for all cells
	name      string      // of the experiment in the metrics
	fresh     bool        // each sample is taken by a fresh child of gorun
	passed    bool        // the started command has this process's input, output and signals, and handles the signals itself
	matrix    bool        // warm-ups are executed before each sample, not once before the run
	needs     []childNeed // of each cell, if fresh
	run       *result.Run
}

// childNeed is what a child needs to sample a cell.
type childNeed struct {
	experiment.Resources
	cpus    cpuset.Set
	checked bool  // once: the limits do not change during a run
	refusal error // why the machine does not allow it
}

// sampleFunc takes one sample of a cell. An error makes the sample invalid.
type sampleFunc func(ctx context.Context, cell int) (result.Sample, error)

// driver executes a plan.
type driver struct {
	plan
	*session
	options    *Options
	order      schedule
	takeSample sampleFunc
	sampler    experiment.Sampler[any] // nil if the plan is fresh
	stops      measure.Stops           // of this process, if the plan is fresh
	running    atomic.Int64            // the cell that is being sampled
	sampled    []int                   // the cell of each sample
	had        cpuset.Set              // CPUs of the run that this process could use when it began
	lacked     bool                    // a wait for missing CPUs has failed
	fault      error                   // the error of the latest sample that failed
	before     float64                 // seconds that the run took before the resume
	begun      time.Time               // the samples
	spent      float64                 // seconds of the budget that the preparation took
	executed   int                     // warm-ups of the sample in progress, or of the last one
	cut        bool                    // the last execution of the user's command was ended
	ends       bool                    // one ended by itself

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
	watch, err := d.settle()
	if err != nil {
		return err
	}
	if err := d.open(ctx, watch); err != nil {
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

// outcome returns the error of a run whose result was shown; status is that of the user's command.
func (d *driver) outcome(status error) error {
	run := d.session.run
	doubtful := func(sample result.Sample) bool {
		return !sample.Partial && sample.Quality.Verdict != result.Valid // --duration cuts the last one
	}
	measured := func(sample result.Sample) bool { return sample.Quality.Verdict != result.Invalid }
	switch {
	case run.Partial:
		return ErrInterrupted
	case status != nil:
		return status
	case !d.passed && !slices.ContainsFunc(run.Samples, measured):
		return d.failed("no sample is valid")
	case !d.compares():
		return d.failed("no cell is left to compare")
	case run.Gate != nil && run.Gate.Result == result.GateFailed:
		return ErrFailOn
	case d.options.strict && slices.ContainsFunc(run.Samples, doubtful):
		return ErrDoubtful
	}
	return nil
}

// printResume prints the command that continues an interrupted run, if it has a journal.
func (d *driver) printResume() {
	if !d.options.resumes || !d.journal.Regular() {
		return
	}
	args := CommandLine(d.env.Args)
	if !d.options.resume {
		args = withFlags(args, "--resume")
	}
	fmt.Fprintf(d.env.Stderr, "gorun: resume with: %s\n", shell.Join(append(slices.Clone(d.env.Self.Argv), args...)))
}

// failed returns the error of a run without a result, with the last fault.
func (d *driver) failed(what string) error {
	run := d.session.run
	if d.fault != nil {
		return fmt.Errorf("%s: %w", what, d.fault)
	}
	for _, s := range slices.Backward(run.Samples) {
		if s.Quality.Verdict == result.Invalid {
			return fmt.Errorf("%s: %s", what, s.Quality.Reasons[0])
		}
	}
	return errors.New(what)
}

// compares reports whether a judged run has a baseline and another cell that were not given up; true of other runs.
func (d *driver) compares() bool {
	b, judged := d.order.(*blocks)
	return !judged || b.board.Compares()
}

// settle sets the CPUs and GOMAXPROCS of this process if it takes the samples itself, and adds the host and the tool to
// the result.
func (d *driver) settle() (watcher *measure.Watcher, err error) {
	run := d.session.run
	here := d.x.Place == experiment.Here && !d.fresh
	if here {
		restore, err := confine(d.cpus, d.machine.Allowed(), d.resources.GOMAXPROCS)
		if err != nil {
			return nil, err
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
			return nil, err
		}
	}
	if d.fresh {
		return nil, nil
	}
	var warnings []result.Warning
	if here {
		watcher, warnings = measure.OpenWatcher(d.env.Root, d.cpus, d.resources.Threads)
	} else {
		watcher, warnings = measure.OpenOutside(d.env.Root, d.cpus)
	}
	d.onClose(watcher.Close)
	run.Warnings = append(run.Warnings, warnings...)
	return watcher, nil
}

// confine restricts this process to its CPUs, and sets GOMAXPROCS; 0 leaves it to the runtime if the CPUs are the
// inherited ones. restore undoes both. It returns an error if the process may no longer use the CPUs.
func confine(cpus, inherited cpuset.Set, procs int) (restore func() error, err error) {
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

// open opens every output, so that an output that cannot be written is an error before anything is measured, and the
// sampler.
func (d *driver) open(ctx context.Context, watcher *measure.Watcher) (err error) {
	draw := chart.MatrixSVG
	if d.x.Picture != nil && !d.matrix {
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
		if d.sampler, err = d.x.Open(d.setting(), d.cellContents()); err != nil {
			return err
		}
		d.onClose(d.sampler.Close)
		d.takeSample = d.watchedSampler(watcher)
		if run := d.session.run; d.matrix && run.Host.ASLR == result.NoASLR {
			if _, varied := experiment.Part[experiment.Varied](d.sampler); varied {
				run.Matrix.Padding = mostPadding
			}
		}
		if of, ok := experiment.Part[experiment.Live](d.sampler); ok {
			live = of.Live
		}
		if d.x.Place == experiment.Here {
			live = ownSwitches(live)
		}
	}
	info := metrics.Info{
		Experiment: d.name, Version: d.env.Tool.Version, Placement: d.placement, Method: d.labels.Method,
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
		return newSchedule(run, d.x.Columns, d.schedule.Order, shared, d.schedule)
	}
	run.Matrix.Budget = o.budget.Seconds()
	for _, s := range run.Samples {
		d.ends = d.ends || !s.Partial
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
	if d.matrix && d.options.budgeted {
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
	p, ok := experiment.Part[experiment.Preparer](d.sampler)
	if !ok {
		return nil
	}
	warnings, err := p.Prepare(ctx)
	if err == nil {
		d.warn(warnings)
	}
	return err
}

// watchedSampler returns a sampleFunc that records what disturbed each sample.
func (d *driver) watchedSampler(watcher *measure.Watcher) sampleFunc {
	return func(ctx context.Context, cell int) (sample result.Sample, err error) {
		dropped := 0
		if d.matrix {
			dropped = max(0, d.session.run.Matrix.Warmup)
		}
		for d.executed = 0; err == nil && d.executed <= dropped; d.executed++ {
			sample, err = d.sampleWithHooks(ctx, watcher, cell)
		}
		return sample, err
	}
}

// sampleWithHooks takes a sample, and calls the sampler's hooks before and after it. Each execution, be it a pilot, a
// warm-up or a sample, begins here, and none does once ctx has ended.
func (d *driver) sampleWithHooks(ctx context.Context, watcher *measure.Watcher, cell int) (sample result.Sample, err error) {
	if err := ctx.Err(); err != nil {
		return sample, err
	}
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = ctx.Err() // it failed because it was ended
		}
	}()
	if around, ok := d.sampler.(experiment.Surrounded[any]); ok {
		defer func() { err = cmp.Or(err, around.After(ctx, d.cells[cell].Do)) }()
		if err := around.Before(ctx, d.cells[cell].Do); err != nil {
			return sample, err
		}
	}
	finish := watcher.Watch()
	if sample, err = d.sampleOn(ctx, cell); err != nil {
		return sample, err
	}
	if sample.Quality.Verdict != result.Invalid { // an invalid sample is not judged
		finish(&sample)
	}
	return sample, nil
}

// sampleOn takes a sample. If the machine's CPUs change during the sample, it is no longer the requested one and ends:
// two processes that wait for each other by spinning, for example, take a thousand times as long on the only CPU left.
// The user's command is not ended.
func (d *driver) sampleOn(ctx context.Context, cell int) (sample result.Sample, err error) {
	cut, cancel := d.first(ctx)
	defer cancel()
	machine := placement.WatchMachine(func() {
		if !d.x.Words {
			cancel()
		}
	})
	sample, err = d.sampler.Sample(cut, d.cells[cell].Do)
	_, changes := machine.End()
	if d.x.Words {
		d.cut = cut.Err() != nil
		if d.ends = d.ends || !d.cut; d.cut && ctx.Err() == nil {
			return sample, d.endless()
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
	case sample.Quality.Verdict == result.Invalid:
		sample.Quality.Reasons = append(changes, sample.Quality.Reasons...)
	default:
		sample.Placement.Verified = false
		sample.Placement.Mismatches = append(changes, sample.Placement.Mismatches...)
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
	if judged && !d.matrix {
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
	interrupted := func() bool { return ctx.Err() != nil && d.schedule.Order != experiment.Watch }
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
		if err != nil && (d.passed || errors.Is(err, errEndless)) {
			return err // with passed, the user's command was not run at all
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
	of, ok := experiment.Part[experiment.Varied](d.sampler)
	if !ok || !d.matrix {
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

// showProgress displays the progress of the run until stop is called.
func (d *driver) showProgress() (stop func()) {
	if d.options.quiet {
		return func() {}
	}
	if d.schedule.Order == experiment.Blocks {
		if !d.env.Progress.Terminal {
			return func() {}
		}
		scoreboard := &term.Scoreboard{W: d.env.Stderr, Opts: d.env.Progress}
		d.drawStanding = scoreboard.Draw
		return func() {
			scoreboard.Erase()
			d.drawStanding = nil // the result follows
		}
	}
	p := term.Progress{
		What: d.x.Name, Live: d.live, Duration: time.Duration(d.schedule.Duration * float64(time.Second)),
		Now: func() string { return d.cells[d.running.Load()].Running },
	}
	if total := uint64(d.order.course().Samples); d.resources.Numbers > 0 && total > 0 {
		if planned := d.resources.Numbers * total; planned/total == d.resources.Numbers {
			p.Planned = planned
		}
	}
	return p.Start(d.env.Stderr, d.env.Progress)
}

// showPreparing shows that the work before the first sample, such as a pilot, is in progress, until the returned
// function is called.
func (d *driver) showPreparing() (stop func()) {
	if d.options.quiet {
		return func() {}
	}
	p := term.Progress{What: "preparing the first sample", Live: func() (live result.Live) { return live }}
	return p.Start(d.env.Stderr, d.env.Progress)
}

// showEvery is the time for which a standing is shown: it takes a millisecond to compute, which many samples do not.
const showEvery = 100 * time.Millisecond

// showStanding shows the standing of the cells of a judged run, on the terminal and in the metrics.
func (d *driver) showStanding() {
	board, ok := d.order.(*blocks)
	if !ok || time.Since(d.shown) < showEvery {
		return
	}
	d.shown = time.Now()
	standing := board.board.Standing()
	d.tally.setStanding(standing)
	if d.drawStanding != nil {
		d.drawStanding(standing)
	}
}

// judge adds verdicts and summaries to the result.
func (d *driver) judge() {
	run := d.session.run
	if run.Matrix != nil {
		d.shown = time.Time{}
		d.showStanding()
		d.order.judge()
		return
	}
	if d.schedule.Order == experiment.Shuffled {
		sortByCell(run.Samples, d.sampled)
	}
	if len(d.cells) == 1 && d.x.Datum == "" { // of wall time, if that is the figure
		run.Summary = result.Summarise(run.Samples)
	}
}

// end closes the sampler. It returns the error that the run ends with after its result has been shown.
func (d *driver) end() (status error) {
	e, ok := experiment.Part[experiment.Ender](d.sampler)
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
