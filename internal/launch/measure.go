package launch

import (
	"context"
	"fmt"
	"strings"

	"gorun/internal/result"
	"gorun/internal/topology"
)

// Request is a command, what it is started with, and what is read off it.
type Request struct {
	Command
	Setting
	Metric *Metric // the command's own figure, in what it prints; nil: none
}

// Measure runs the command once. The error is that it never ran, and why; a command that failed is a sample too, and
// Failure says so. The figure is looked for in what the command writes to stdout, and then in what it writes to stderr.
// m is the machine, to tell migrations apart.
func (r Request) Measure(ctx context.Context, m *topology.Machine) (result.Sample, Outcome, error) {
	o, err := Run(ctx, r.Command, r.Setting)
	if err != nil {
		return result.Sample{}, o, err
	}
	v := result.Exec{
		ExitCode: o.ExitCode, Signal: o.Signal, TimedOut: o.TimedOut, MaxRSSBytes: o.MaxRSSBytes,
		MaxRSSFloorBytes: o.MaxRSSFloorBytes, Killed: o.Killed, Migrations: o.Migrations(m),
	}
	s := result.Sample{
		Seconds: o.WallSeconds, UserSeconds: o.UserSeconds, SystemSeconds: o.SystemSeconds, Partial: ctx.Err() != nil,
		Placement: result.Placement{
			Requested: r.Setting.String(), Verified: len(o.Mismatches) == 0, Checked: o.Checked, Mismatches: o.Mismatches,
		},
	}
	for _, change := range o.Changed { // it was started as asked
		s.Placement.Mismatches = append(s.Placement.Mismatches, change)
		s.Doubts = append(s.Doubts, result.Doubt{Verdict: result.Suspect, Reason: change})
	}
	sig := &s.Quality.Signals
	sig.MinorFaults, sig.MajorFaults = &o.MinorFaults, &o.MajorFaults
	sig.StoppedSeconds = o.StoppedSeconds
	sig.VoluntarySwitches, sig.InvoluntarySwitches = &o.VoluntarySwitches, &o.InvoluntarySwitches
	if r.Metric != nil && o.Failure() == "" {
		figure, err := r.Metric.Find(o.Stdout)
		if err != nil {
			if inStderr, stderrErr := r.Metric.Find(o.Stderr); stderrErr == nil {
				figure, err = inStderr, nil
			}
		}
		if err == nil {
			v.Metric = &figure
		}
		if err == nil && figure <= 0 {
			err = fmt.Errorf("the metric is %v, and only figures above 0 have a ratio", figure)
		}
		if err != nil {
			s.Doubts = append(s.Doubts, result.Doubt{Verdict: result.Invalid, Reason: err.Error()})
		}
	}
	s.Values = result.FiguresOf(&v)
	return s, o, nil
}

// Failure says how a command failed, with the end of what it wrote to stderr as far as it was kept; "" when it did not.
func (o Outcome) Failure() string {
	how := ""
	switch {
	case o.TimedOut:
		how = "the command took longer than the timeout"
	case o.Signal != 0:
		how = fmt.Sprintf("the command was ended by signal %d", o.Signal)
	case o.ExitCode != 0:
		how = fmt.Sprintf("the command ended with exit code %d", o.ExitCode)
	case len(o.Left) > 0:
		how = fmt.Sprintf("the command left processes that cannot be killed: %v", o.Left)
	default:
		return ""
	}
	const shown = 300 // bytes of stderr
	end := strings.TrimSpace(string(o.Stderr[max(0, len(o.Stderr)-shown):]))
	if end != "" {
		how += ": " + strings.Join(strings.Fields(strings.ToValidUTF8(end, "�")), " ")
	}
	return how
}
