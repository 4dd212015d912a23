package command

import (
	"context"
	"fmt"
	"os"

	"gorun/internal/experiment"
	"gorun/internal/launch"
	"gorun/internal/result"
)

// The number of bytes kept from the end of a command's output, for its figures and for error messages.
const keptOutput = 1 << 20

// exitTimedOut is the exit code of a command that timed out, as in timeout(1).
const exitTimedOut = 124

// sampler runs the commands.
type sampler struct {
	experiment.Setting
	experiment.Variation
	cells    []Cell
	prepared bool // Prepare was called
	// The processes that --setup and the last --prepare left.
	setUp, preparedFor launch.Left
	lasting            launch.Lasting
	last               launch.Outcome
	written            []written
	dedicated          *result.Dedicated // of the last sample with --dedicate
	unrestored         error             // error of restoring what was moved for it
}

// Sample runs the command of a cell, on a CPU of its own if the cell has one.
func (s *sampler) Sample(ctx context.Context, c Cell) (result.Sample, error) {
	if c.Dedicate != nil {
		return s.sampleDedicated(ctx, c)
	}
	return s.measure(ctx, c)
}

// measure runs the command of a cell. A single run's command may fail; in a comparison, a command that failed or
// could not be started gives an invalid sample.
func (s *sampler) measure(ctx context.Context, c Cell) (sample result.Sample, err error) {
	r := launch.Request{Setting: c.Setting, Command: launch.Command{
		Self: s.Self.In(s.Environ), Argv: c.Argv, Keep: keptOutput, Timeout: c.Timeout, Migrations: c.Migrations, Padding: s.Padding,
	}, Exits: c.Exits}
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
			r.Keep = 0 // the command writes directly to gorun's output
		}
	} else {
		r.Lasting = &s.lasting
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
	case !sample.Partial && len(c.Metrics) == 0: // printed figures differ from run to run
		s.note(c, s.last.Written)
	}
	return sample, nil
}

// End returns an error with the exit code of the command that the user ran, and warnings about compared commands with
// different output.
func (s *sampler) End() (warnings []result.Warning, err error) {
	if !s.Passed {
		return append(s.differing(), s.leftWarnings()...), nil
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
