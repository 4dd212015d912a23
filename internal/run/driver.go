package run

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"gorun/internal/experiment"
	"gorun/internal/files/input"
	"gorun/internal/judge/matrix"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/sample/take"
)

// driver executes a plan.
type driver struct {
	plan
	*session
	options *Options
	order   matrix.Sequence
	// takeSample takes one sample of a cell. An error makes the sample invalid.
	takeSample func(ctx context.Context, cell int) (result.Sample, error)
	taker      take.Taker             // of this process; it has no sampler if the plan is fresh
	running    atomic.Int64           // the cell that is being sampled
	stage      atomic.Pointer[string] // of a search, in words
	sampled    []int                  // the cell of each sample
	had        cpuset.Set             // CPUs of the run that this process could use when it began
	lacked     bool                   // a wait for missing CPUs has failed
	fault      error                  // the error of the latest sample that failed
	before     float64                // seconds that the run took before the resume
	begun      time.Time              // the samples
	spent      float64                // seconds of the budget that the preparation took

	drawInterim func(result.Interim) // nil: no display
	showAt      time.Time            // of the next interim state
}

// newDriver returns the driver of a plan.
func newDriver(e Env, o *Options, p plan) *driver {
	d := &driver{plan: p, options: o, session: &session{env: e, run: p.run}}
	d.env.Show.Verbose, d.env.Progress.Verbose = o.verbose, o.verbose
	d.state.begin(e.Now)
	d.state.cpus, d.state.columns, d.state.count = p.cpus.Len(), p.x.Columns, p.x.Count
	within := p.cpus
	if p.x.Place != experiment.Here {
		within = within.Union(p.machine.Allowed()) // of a command that floats
	}
	d.state.work.Totals.Relation = p.machine.OnlyRelation(within.List())
	return d
}

// drive executes a plan.
func drive(ctx context.Context, e Env, o *Options, p plan) (err error) {
	d := newDriver(e, o, p)
	defer func() {
		if errors.Is(err, ErrInterrupted) {
			d.printResume()
		}
	}()
	defer d.close(&err)
	for _, step := range []func(context.Context) error{d.check, d.settle, d.open, d.prepare} {
		if err := step(ctx); err != nil && ctx.Err() != nil {
			return ErrInterrupted
		} else if err != nil {
			return err
		}
	}
	if d.kind == onceRun {
		ctx = context.WithoutCancel(ctx)
	}
	counted := d.countOverhead()
	if err := d.sample(ctx); err != nil {
		return err
	}
	counted()
	d.judge()
	if err := d.heldRound(); err != nil {
		return worseOutcome(err, d.endJournal(o))
	}
	status := d.end()
	d.x.Explain(d.session.run, d.cellContents())
	return cmp.Or(d.finish(ctx, o), d.outcome(status))
}

// here reports whether this process does the work of the samples itself.
func (d *driver) here() bool { return d.x.Place == experiment.Here && !d.fresh() }

// settle sets the CPUs and GOMAXPROCS of this process if it takes the samples itself, and adds the host and the tool to
// the result.
func (d *driver) settle(ctx context.Context) (err error) {
	run := d.session.run
	if d.here() {
		restore, err := take.Confine(d.cpus, d.machine.Allowed(), d.resources.GOMAXPROCS)
		if err != nil {
			return err
		}
		d.onClose(restore)
	}
	warn(run, result.OddMachine(d.machine.Warnings))
	var unread []result.Warning
	run.Host, unread = measure.ReadHost(d.env.Root, d.machine.Machine, d.env.Environ())
	run.Warnings = append(run.Warnings, unread...)
	if d.env.Conditions != nil {
		run.Host.Conditions = d.env.Conditions(d.env.Root, d.machine.Machine, run.Host)
	}
	if run.Matrix != nil {
		if run.Tool.SHA256, err = (input.Opener{}).SHA256(ctx, d.env.Self.Path, input.Any); err != nil {
			return err
		}
	}
	if d.fresh() {
		return nil
	}
	var warnings []result.Warning
	if d.here() {
		d.taker.Watcher, warnings = measure.OpenWatcher(d.env.Root, d.cpus, d.resources.Threads)
	} else {
		d.taker.Watcher, warnings = measure.OpenOutside(d.env.Root, d.cpus)
		if d.options.why != "" {
			d.taker.Watcher.CountMore()
		}
	}
	d.onClose(d.taker.Watcher.Close)
	run.Warnings = append(run.Warnings, warnings...)
	return nil
}

// prepare does the slow work before the first sample, and writes the header, which holds its results. In a matrix, its
// time counts for a budget that was given.
func (d *driver) prepare(ctx context.Context) error {
	defer d.showPreparing()()
	if is, err := linux.GetAffinity(os.Getpid()); err == nil {
		d.had = is.Intersect(d.cpus)
	}
	d.state.plan(d.order.Extent(), d.before)
	begun := d.env.Now()
	took := func() float64 { return d.env.Now().Sub(begun).Seconds() }
	if d.kind == matrixRun && d.options.budgeted {
		defer func() {
			d.spent = took()
			d.order.Spend(d.spent)
		}()
	}
	if d.resumed != nil {
		if _, more := d.order.Next(d.before); !more {
			return nil // there is nothing to prepare for
		}
	}
	cut, cancel := d.within(ctx, 0)
	defer cancel()
	if err := d.ready(cut); err != nil || d.resumed != nil {
		return d.ended(ctx, cut, d.preparation(), longer, err)
	}
	each, err := d.pilot(cut)
	if err != nil {
		return d.ended(ctx, cut, "the pilot", d.enoughForVerdict(took(), each), err)
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
	if d.fresh() {
		return nil
	}
	warnings, err := d.taker.Prepare(ctx)
	if err != nil {
		return err
	}
	d.warn(warnings)
	if settler, is := experiment.Part[experiment.Settler](d.taker.Sampler); is && d.resumed == nil {
		maps.Copy(d.session.run.Spec.(map[string]string), settler.Settled()) // that of a matrix
	}
	return d.identify(ctx, true)
}

// takeHere takes a sample of a cell in this process, after the warm-ups of the design.
func (d *driver) takeHere(ctx context.Context, cell int) (sample result.Sample, err error) {
	dropped := 0
	if d.kind == matrixRun {
		dropped = max(0, d.session.run.Matrix.Warmup)
	}
	for executed := 0; err == nil && executed <= dropped; executed++ {
		sample, err = d.taker.Take(ctx, cell)
	}
	return sample, err
}

// errStopped is returned by a step after which no sample is taken, although the schedule has more.
var errStopped = errors.New("no sample follows")

// sample takes the samples in order, until the schedule or ctx ends.
func (d *driver) sample(ctx context.Context) error {
	run := d.session.run
	defer d.showProgress()()
	d.begun, run.Partial = d.env.Now(), false
	cut, cancel := d.within(ctx, d.schedule.Duration)
	defer cancel()
	err := d.warmUp(ctx, cut)
	for err == nil {
		slot, more := d.order.Next(d.elapsed())
		if !more {
			break
		}
		err = d.step(ctx, cut, slot)
	}
	switch {
	case experiment.IsOver(err):
		return nil
	case errors.Is(err, errStopped): // possibly by an interrupt after the sample, while the journal was written
		run.Partial = run.Partial || ctx.Err() != nil
	case err != nil:
		return err
	}
	if !run.Partial {
		d.warn(d.order.Warnings())
	}
	return nil
}

// wholeOnly reports whether only whole samples are of use, which are then preceded by warm-ups that are not kept.
func (d *driver) wholeOnly() bool {
	return d.schedule.Order == matrix.RandomBlocks || d.schedule.Order == matrix.Rows
}

// warmUp executes the warm-ups that precede the first sample.
func (d *driver) warmUp(ctx, cut context.Context) error {
	if !d.wholeOnly() || d.kind == matrixRun {
		return nil
	}
	for range d.options.warmup {
		_, _ = d.takeSample(cut, 0) // an error will occur again in the samples
		if ctx.Err() != nil {
			return errStopped
		}
		if cut.Err() != nil {
			break
		}
	}
	return nil
}

// step takes the sample of a slot, and adds it to the run.
func (d *driver) step(ctx, cut context.Context, slot result.Slot) error {
	run := d.session.run
	if ctx.Err() != nil {
		return errStopped
	}
	sample, err := d.takeNext(cut, slot)
	run.Partial = ctx.Err() != nil
	switch {
	case run.Partial && (err != nil || d.wholeOnly()), err != nil && errors.Is(err, cut.Err()):
		return errStopped // the sample in progress was cut short, and is useless
	case errors.Is(err, take.ErrEndless):
		return d.endless()
	case experiment.IsOver(err), err != nil && d.kind == onceRun:
		return err // of the user's command that did not run, for example
	case err != nil:
		d.fault, sample = err, result.InvalidSample(err)
	}
	if cut.Err() != nil && d.wholeOnly() && (sample.Partial || sample.Quality.Grade == result.Invalid) {
		sample.Partial = true
		sample.Quality.Grade, sample.Quality.Reasons = result.Invalid, []string{errCut.Error()}
	}
	return d.add(cut, slot, sample)
}

// takeNext takes the sample of a slot, once the CPUs of the run are there.
func (d *driver) takeNext(cut context.Context, slot result.Slot) (result.Sample, error) {
	d.running.Store(int64(slot.Cell))
	if search, ok := d.order.(*matrix.Search); ok {
		d.stage.Store(new(search.Stage()))
	}
	d.showInterim()
	d.vary(slot)
	before := d.session.run.Samples.Last()
	d.awaitCPUs(cut, before != nil && before.Quality.Grade == result.Invalid)
	return d.takeSample(cut, slot.Cell)
}

// add adds the sample of a slot to the run, unless it is a warm-up.
func (d *driver) add(cut context.Context, slot result.Slot, sample result.Sample) error {
	run := d.session.run
	slot.Elapsed = result.Nanoseconds(d.elapsed())
	if !d.order.Check(&sample, slot.Elapsed) && !run.Partial {
		run.Warmups = append(run.Warmups, sample)
		d.state.add(sample)
		return d.order.Add(sample, slot.Elapsed)
	}
	if len(run.Cells) > 0 {
		sample.Slot = &slot
	}
	sample.Index = run.Index(&sample)
	run.Partial = !d.keep(sample) || run.Partial
	if d.schedule.Order == matrix.Turns { // in others, the slot of a sample has its cell
		d.sampled = append(d.sampled, slot.Cell)
	}
	if err := d.order.Add(sample, slot.Elapsed); err != nil {
		return err
	}
	if run.Partial || cut.Err() != nil {
		return errStopped
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
	if !ok || d.kind != matrixRun {
		return
	}
	v := experiment.Variation{Round: slot.Round}
	if run := d.session.run; run.Matrix.Padding > 0 {
		random := rand.New(rand.NewPCG(run.Seed, 1<<63+uint64(run.Taken())))
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
		d.showAt = time.Time{}
		d.showInterim()
		d.order.Judge()
		return
	}
	if d.schedule.Order == matrix.Turns {
		run.Samples = byCell(run.Samples, d.sampled)
	}
	if len(d.cells) == 1 && d.x.Compared == "" { // of wall time, if that is the figure
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

// byCell returns samples in the order of their cells, those of a cell in the order in which they were taken.
func byCell(samples result.Samples, cells []int) result.Samples {
	at := make([]int, samples.Len())
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return cells[a] - cells[b] })
	return samples.Pick(at)
}
