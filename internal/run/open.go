package run

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/files/output"
	"gorun/internal/judge/matrix"
	"gorun/internal/publish/document"
	"gorun/internal/publish/metrics"
	"gorun/internal/record/result"
	"gorun/internal/sample/take"
	"gorun/internal/show/term"
)

// check returns an error if this process may not have the threads or the memory that it needs, or outputs are the same file.
func (d *driver) check(context.Context) error {
	if !d.fresh() { // otherwise each child is checked
		warnings, err := take.Enough(d.env.Root, d.resources)
		if err != nil {
			return err
		}
		d.warn(warnings)
	}
	return d.checkOutputs()
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
	if d.kind == onceRun || slices.ContainsFunc(outputs, d.files.IsStdout) {
		d.env.Stdout, d.env.Show = d.env.Stderr, d.env.Progress
		return nil
	}
	return output.Check(d.env.Stdout)
}

// open opens every output, so that an output that cannot be written is an error before anything is measured, and the
// sampler.
func (d *driver) open(ctx context.Context) (err error) {
	picture := d.x.Picture
	if picture == nil || d.kind == matrixRun {
		picture = experiment.Ratios(d.x.Shape(false))
	}
	if err := d.openExport(ctx, d.options.picture(), picture.Write); err != nil {
		return err
	}
	if err := d.openExports(ctx); err != nil {
		return err
	}
	live := d.state.childWork
	if d.fresh() {
		d.takeSample = d.sampleInChild
	} else {
		d.taker.Cells = append(d.cellContents(), d.candidates...)
		if d.taker.Sampler, err = d.x.Open(d.setting(ctx), d.taker.Cells); err != nil {
			return err
		}
		d.onClose(d.taker.Close)
		d.taker.Units, d.taker.Command, d.taker.Limit = d.units, d.x.TakesCommand, d.options.limit()
		d.takeSample = d.takeHere
		if run := d.session.run; d.kind == matrixRun && run.Host.ASLR == result.NoASLR {
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
	if d.kind == matrixRun {
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
	if err := d.identify(ctx, false); err != nil {
		return err
	}
	d.order, err = d.newSequence()
	return err
}

// identify adds the files that define what is measured to a run that begins. A run that continues has the same ones, or notes those that
// have changed in its next sample. prepared: the sampler has done its slow work, which may make them.
func (d *driver) identify(ctx context.Context, prepared bool) error {
	run := d.session.run
	of, ok := experiment.Part[experiment.Identified](d.taker.Sampler)
	if !ok || d.journal == nil || run.Matrix == nil {
		return nil
	}
	files, warnings, err := of.Identify(ctx, prepared)
	if err != nil {
		return err
	}
	d.warn(warnings)
	if d.resumed == nil {
		run.Files = append(run.Files, files...)
		return nil
	}
	changed, words, refused := matrix.Changed(run, files)
	if refused && !d.options.resumeChanged {
		err := fmt.Errorf("--resume: the samples in %s are of another program: %s", d.options.out, strings.Join(words, "; "))
		return hint.With(err, "add --resume-changed to go on with this one, or give --out another name")
	}
	for _, text := range words {
		d.env.warn(result.Warning{Message: text})
	}
	d.changed = append(d.changed, changed...)
	return nil
}

// openExports opens the files into which the result is also written.
func (d *driver) openExports(ctx context.Context) error {
	for _, export := range d.options.exports() {
		write := func(w io.Writer, run *result.Run) error {
			return document.Show(w, d.env.Views.Run(run), export.format, term.Options{})
		}
		if err := d.openExport(ctx, export.Named, write); err != nil {
			return err
		}
	}
	return nil
}

// units returns those of the run, which may be one that is resumed.
func (d *driver) units() map[string]string { return d.session.run.Units }

// setting returns the argument for opening the sampler.
func (d *driver) setting(ctx context.Context) experiment.Environment {
	s := experiment.Environment{
		Self: d.env.Self, Environ: d.env.Environ(), Files: d.env.Files(), Seed: d.session.run.Seed,
		PassThrough: d.kind == onceRun, Signals: ctx, Units: d.units,
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

// newSequence makes the sequence of the cells. That of a resumed run continues after its samples.
func (d *driver) newSequence() (matrix.Sequence, error) {
	run, s := d.session.run, d.schedule
	s.Budget, s.Warmup = d.options.budget.Seconds(), d.options.warmup
	if d.resumed == nil {
		names := make([]string, len(d.cells))
		for i, cell := range d.cells {
			names[i] = cell.Name
		}
		return s.Sequence(run, names, d.x.Columns)
	}
	run.Matrix.Budget = s.Budget
	for _, samples := range []result.Samples{run.Samples, run.Confirming} {
		for _, s := range samples.All() {
			d.taker.Ends = d.taker.Ends || !s.Partial
			d.state.add(*s)
		}
	}
	if search := d.resumed.Search; search != nil {
		d.before = search.Elapsed()
		return search, nil
	}
	judging := d.resumed.Judging
	d.before = judging.Elapsed()
	return s.Continue(judging), nil
}
