package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/shell"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// outcome returns the error of a run whose result was shown; status is that of the user's command.
func (d *driver) outcome(status error) error {
	run := d.session.run
	doubtful := func(sample *result.Sample) bool {
		return !sample.Partial && sample.Quality.Grade != result.Valid // --duration cuts the last one
	}
	measured := func(sample *result.Sample) bool { return sample.Quality.Grade != result.Invalid }
	switch {
	case run.Partial:
		return ErrInterrupted
	case status != nil:
		return status
	case d.options.searches:
		return d.searched()
	case d.kind != onceRun && !run.Samples.Has(measured):
		return d.undecided(d.failed("no sample is valid"))
	case !d.compares():
		return d.undecided(d.failed("no cell is left to compare"))
	}
	err := Gated(run.Gate, d.options.exitUndecided)
	switch {
	case err != nil:
		return err
	case d.options.strict && run.Samples.Has(doubtful):
		return ErrDoubtful
	}
	return nil
}

// searched returns the error of a search that names no cell. Where the bad end is not worse, that is known.
func (d *driver) searched() error {
	search := d.session.run.Matrix.Search
	if _, found := search.Named(); found {
		return nil
	}
	err := errors.New("no commit is named")
	if last := search.Stages[len(search.Stages)-1]; last.Goes == stats.NotWorse && !last.Last {
		return err
	}
	return d.undecided(err)
}

// undecided gives the error of a run without a result the exit code that was asked for.
func (d *driver) undecided(err error) error {
	if d.options.exitUndecided == 0 {
		return err
	}
	return Undecided{Code: d.options.exitUndecided, Why: err}
}

// printResume prints the command that continues an interrupted run, if it has a journal.
func (d *driver) printResume() {
	if !d.options.resumes || !d.journal.Regular() {
		return
	}
	args := CommandLine(d.env.Args)
	if at := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--resume-changed") }); at >= 0 {
		args = slices.Delete(args, at, at+1) // the journal has noted what changed
	}
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
	for i := run.Samples.Len() - 1; i >= 0; i-- {
		if s := run.Samples.At(i); s.Quality.Grade == result.Invalid {
			return fmt.Errorf("%s: %s", what, s.Quality.Reasons[0])
		}
	}
	return errors.New(what)
}

// compares reports whether a judged run has a baseline and another cell that were not given up; true of other runs.
func (d *driver) compares() bool {
	b, judged := d.order.(*matrix.Blocks)
	return !judged || b.Compares()
}
