package command

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/files/output"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/sample/printed"
	"gorun/internal/start/launch"
)

// exitTimedOut is the exit code of a command that timed out, as in timeout(1).
const exitTimedOut = 124

// sampler runs the commands.
type sampler struct {
	experiment.Environment
	experiment.Variation
	cells     []Cell
	revisions Revisions
	dirs      map[string]string // by revision
	prepared  bool              // Prepare was called
	// The processes that --setup and the last --prepare left.
	setUp, preparedFor launch.Left
	lasting            launch.Lasting
	last               launch.Outcome
	written            []*written
	compared           int               // number of executions whose output was compared
	begun              bool              // the samples, after a pilot
	dedicated          *result.Dedicated // of the last sample with --dedicate
	apart              bool              // the server may use no CPU of the run
	unrestored         error             // error of restoring what was moved for it
}

// Sample runs the command of a cell.
func (s *sampler) Sample(ctx context.Context, c Cell) (result.Sample, error) {
	if c.Server == nil {
		return s.sampleAlone(ctx, c)
	}
	sample, seconds, err := c.Server.Watch(s.apart, func() (result.Sample, error) { return s.sampleAlone(ctx, c) })
	if v, ok := result.Typed[Figures](&sample); ok && seconds != nil {
		v.ServerSeconds = seconds // the figures are still this sampler's own
	}
	return sample, err
}

// sampleAlone takes a sample of a cell without a look at its server, on a CPU of its own if the cell has one.
func (s *sampler) sampleAlone(ctx context.Context, c Cell) (result.Sample, error) {
	if c.Dedicate != nil {
		return s.sampleDedicated(ctx, c)
	}
	return s.measure(ctx, c)
}

// place finds out which CPUs the server of the cells may use.
func (s *sampler) place() (warnings []result.Warning) {
	i := slices.IndexFunc(s.cells, func(c Cell) bool { return c.Server != nil })
	if i < 0 {
		return nil
	}
	var run cpuset.Set
	for _, c := range s.cells {
		if c.Settings[0].CPUs.Empty() && c.Server != nil {
			run = run.Union(c.Server.Among)
		}
		for _, setting := range c.Settings {
			run = run.Union(setting.CPUs)
		}
	}
	s.apart, warnings = s.cells[i].Server.Place(run)
	return warnings
}

// Vary implements experiment.Varied.
func (s *sampler) Vary(v experiment.Variation) {
	s.Variation, s.begun = v, true
}

// measure takes a sample of a cell. Before it, the output of the command is compared where that is due: a pilot, whose
// time does not count, is such an execution itself.
func (s *sampler) measure(ctx context.Context, c Cell) (sample result.Sample, err error) {
	if s.PassThrough || len(c.Metrics) > 0 || !s.of(c).due() {
		return s.execute(ctx, c, false)
	}
	before := s.compared
	sample, err = s.execute(ctx, c, true)
	if !s.begun || err != nil || s.compared == before {
		return sample, err
	}
	if err := s.After(ctx, c); err != nil {
		return sample, err
	}
	for _, of := range s.unsure(c) {
		err := s.Before(ctx, of)
		if err == nil {
			_, err = s.execute(ctx, of, true)
		}
		if err := cmp.Or(err, s.After(ctx, of)); err != nil {
			return sample, err
		}
	}
	if err := s.Before(ctx, c); err != nil {
		return sample, err
	}
	return s.execute(ctx, c, false)
}

// execute runs the command of a cell. compare: it is run for its output, not for its time. A single run's command may
// fail; in a comparison, a command that failed or could not be started gives an invalid sample.
func (s *sampler) execute(ctx context.Context, c Cell, compare bool) (sample result.Sample, err error) {
	g := launch.Group{
		Dir: s.dirs[c.Revision], Self: s.Self.In(s.Environ), Gate: c.Copies, Together: len(c.Exits) == 0, Keep: printed.Kept, Timeout: c.Timeout,
		Migrations: c.Migrations, Looks: c.Why, Counters: c.Why, Padding: s.Padding,
	}
	if s.PassThrough {
		g.PassThrough = true
		if len(c.Metrics) == 0 {
			g.Keep = 0 // the command writes directly to gorun's output
		}
	} else {
		g.Lasting, g.InMemory = &s.lasting, c.Output != outputPipe
	}
	files := opened{}
	defer func() { files.close() }() // the files that are opened here
	for i := range c.Settings {
		m, err := files.member(ctx, s, c, i, compare)
		if err != nil {
			return sample, err
		}
		g.Members = append(g.Members, m)
	}
	sample, s.last, err = measure.Command(ctx, g)
	sample.Placement.Requested = c.requested()
	failure := howFailed(s.last, c.Copies, c.Exits)
	if err == nil {
		c.addFigures(&sample, s.last, failure == "", s.Machine)
	}
	switch {
	case s.PassThrough:
		return sample, err
	case err != nil:
		return result.InvalidSample(err), nil
	case failure != "":
		doubt := result.Doubt{Grade: result.Invalid, Reason: failure}
		if s.last.Signal == 0 && !s.last.TimedOut && s.last.ExitCode != 0 {
			doubt.Hint = fmt.Sprintf("if this is no failure: --ignore-failure=%d", s.last.ExitCode)
		}
		sample.Doubts = append([]result.Doubt{doubt}, sample.Doubts...)
	case sample.Partial:
	case compare:
		s.note(c)
	case c.null() && s.of(c) != nil:
		w := s.of(c)
		w.nulls, w.slowest = w.nulls+1, max(w.slowest, sample.UserSeconds+sample.SystemSeconds)
	}
	return sample, nil
}

// opened are the files that were opened for an execution.
type opened []*os.File

func (o opened) close() {
	for _, f := range o {
		f.Close()
	}
}

// open opens the files that a command reads from and writes to, in place of gorun's own. compare: what it writes is kept.
func (o *opened) open(ctx context.Context, s *sampler, c Cell, compare bool, in, out **os.File) (err error) {
	if s.PassThrough {
		ctx = s.Signals // there is no command yet that could get them
	}
	if (!s.PassThrough || c.Output != "") && !compare && len(c.Metrics) == 0 {
		if *out, err = c.openOutput(ctx, output.Opener{Stderr: s.Files.Named}); err != nil {
			return fmt.Errorf("--output: %w", err)
		}
		if *out != os.Stdout {
			*o = append(*o, *out)
		}
	}
	if c.Input != "" {
		if *in, err = s.Files.Handed(ctx, c.Input); err != nil {
			return fmt.Errorf("--input: %w", err)
		}
		*o = append(*o, *in)
	}
	return nil
}

// addFigures adds the figures of an execution to its sample. Those that the command prints are looked for if it did not fail.
func (c Cell) addFigures(s *result.Sample, o launch.Outcome, succeeded bool, m *topology.Machine) {
	v := Figures{
		ExitCode: o.ExitCode, Signal: o.Signal, TimedOut: o.TimedOut, PeakRSS: o.PeakRSS(), Killed: o.Killed, Migrations: o.Migrations(m),
	}
	v.Several = c.several(o)
	if s.Counters != nil {
		o.Count(m, s.Counters)
	}
	if succeeded {
		for i, metric := range c.Metrics {
			mean, err := metric.Mean(o.Members)
			if mean != nil {
				*v.metrics()[i] = &mean.Value
				s.Printed(result.MetricColumnOf(i), mean.Unit)
			}
			if err != nil {
				s.Doubts = append(s.Doubts, result.Doubt{Grade: result.Invalid, Reason: err.Error(), Hint: hint.Of(err)})
			}
		}
		for i := range o.Members {
			if c.Copies && len(c.Metrics) > 0 {
				if figure, err := c.Metrics[0].In(o.Members[i]); err == nil { // an error is that of the mean too
					if *figure, err = figure.In(s.Units[result.MetricColumnOf(0)]); err == nil {
						v.Processes[i].Metric = &figure.Value
					}
				}
			}
		}
	}
	s.Values = result.FiguresOf(&v)
}

// End returns an error with the exit code of the command that the user ran, and warnings about compared commands with
// different output.
func (s *sampler) End() (warnings []result.Warning, err error) {
	if !s.PassThrough {
		return slices.Concat(s.differing(), s.doingLess(), s.leftWarnings()), nil
	}
	if s.last.NoMoves != nil {
		warnings = append(warnings, *s.last.NoMoves)
	}
	switch {
	case s.last.TimedOut:
		err = experiment.Status(exitTimedOut)
	case s.last.ExitCode != 0:
		err = experiment.Status(s.last.ExitCode)
	}
	return warnings, err
}
