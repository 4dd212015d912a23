package command

import (
	"context"
	"fmt"
	"os"

	"gorun/internal/experiment"
	"gorun/internal/launch"
	"gorun/internal/result"
)

// Of the end of a command's output, this many bytes are kept, for its figure and its last words.
const keptOutput = 1 << 20

// exitTimedOut is that of timeout(1).
const exitTimedOut = 124

// sampler runs the commands.
type sampler struct {
	experiment.Setting
	cells      []Cell
	prepared   bool // Prepare was called
	last       launch.Outcome
	written    []written
	dedicated  *result.Dedicated // of the last sample that had a CPU to itself
	unrestored error             // of what was moved for it
}

// Sample runs the command of a cell, on a CPU of its own if the cell has one.
func (s *sampler) Sample(ctx context.Context, c Cell) (result.Sample, error) {
	if c.Dedicate != nil {
		return s.alone(ctx, c)
	}
	return s.measure(ctx, c)
}

// measure runs the command of a cell. When it is what the user sees, it may fail; of a comparison, a command that failed
// or never ran is an invalid sample.
func (s *sampler) measure(ctx context.Context, c Cell) (sample result.Sample, err error) {
	r := launch.Request{Setting: c.Setting, Command: launch.Command{
		Self: s.Self.In(s.Environ), Argv: c.Argv, Keep: keptOutput, Timeout: c.Timeout, Migrations: c.Migrations,
	}, AnyExit: c.AnyExit}
	for _, text := range c.Metrics {
		metric, err := launch.ParseMetric(text)
		if err != nil {
			return sample, err
		}
		r.Metrics = append(r.Metrics, metric)
	}
	if s.Passed {
		r.Passed, r.Stdin, r.Stdout, r.Stderr = true, os.Stdin, os.Stdout, os.Stderr
		if len(r.Metrics) == 0 {
			r.Keep = 0 // nothing stands between the command and its output
		}
	}
	if c.Input != "" {
		if r.Stdin, err = os.Open(c.Input); err != nil {
			return sample, fmt.Errorf("--input: %w", err)
		}
		defer r.Stdin.Close()
	}
	sample, s.last, err = r.Measure(ctx, s.Machine)
	switch failure := r.Failure(s.last); {
	case s.Passed:
		return sample, err
	case err != nil:
		return result.InvalidSample(err), nil
	case failure != "":
		sample.Doubts = append([]result.Doubt{{Verdict: result.Invalid, Reason: failure}}, sample.Doubts...)
	case !sample.Partial && len(c.Metrics) == 0: // figures that a command prints are never the same
		s.note(c, s.last.Written)
	}
	return sample, nil
}

// End has gorun end as the command did that the user has seen; it warns of compared commands whose output differs.
func (s *sampler) End() (warnings []result.Warning, err error) {
	if !s.Passed {
		return append(s.differing(), s.left()...), nil
	}
	if s.last.MovesWorse != nil {
		warnings = append(warnings, *s.last.MovesWorse)
	}
	switch {
	case s.last.TimedOut:
		err = experiment.Status(exitTimedOut)
	case s.last.ExitCode != 0:
		err = experiment.Status(s.last.ExitCode)
	}
	return warnings, err
}
