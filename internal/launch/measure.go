package launch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/result"
	"gorun/internal/topology"
)

// Request is a command, its setting, and what is measured of it.
type Request struct {
	Command
	Setting
	Metrics []Metric // the command's own figures, in what it prints; at most as many as result.Exec has
	Exits   []int    // exit codes other than 0 that are not failures: 128+n is signal n
}

// Measure runs the command once. It returns an error if the command never ran; a command that failed gives a sample,
// and Failure describes it. The figure is searched in the command's stdout, and then in its stderr. m is the machine,
// by which migrations are classified.
func (r Request) Measure(ctx context.Context, m *topology.Machine) (result.Sample, Outcome, error) {
	before := r.Lasting.unwaited()
	o, err := Run(ctx, r.Command, r.Setting)
	if err != nil {
		return result.Sample{}, o, err
	}
	v := result.Exec{
		ExitCode: o.ExitCode, Signal: o.Signal, TimedOut: o.TimedOut, PeakRSS: o.PeakRSS(), Killed: o.Killed, Migrations: o.Migrations(m),
	}
	s := result.Sample{
		Seconds: o.WallSeconds, UserSeconds: o.UserSeconds, SystemSeconds: o.SystemSeconds, Partial: ctx.Err() != nil,
		Unwaited: r.Lasting.unwaited() - before,
		Placement: result.Placement{
			Requested: r.Setting.String(), Verified: len(o.Mismatches) == 0, Checked: o.Checked, Mismatches: o.Mismatches,
		},
	}
	for _, change := range o.Changed { // it was started as requested
		s.Placement.Mismatches = append(s.Placement.Mismatches, change)
		s.Doubts = append(s.Doubts, result.Doubt{Verdict: result.Suspect, Reason: change})
	}
	sig := &s.Quality.Signals
	sig.MinorFaults, sig.MajorFaults = &o.MinorFaults, &o.MajorFaults
	sig.StoppedSeconds = o.StoppedSeconds
	sig.VoluntarySwitches, sig.InvoluntarySwitches = &o.VoluntarySwitches, &o.InvoluntarySwitches
	if len(r.Metrics) > 0 && r.Failure(o) == "" {
		for i, metric := range r.Metrics {
			figure, err := metric.in(o)
			if o.Lost {
				figure, err = nil, fmt.Errorf("the command wrote more than %d MiB, which --metric does not search: let it print less", r.Keep>>20)
			}
			*v.Metrics()[i] = figure
			if err != nil {
				s.Doubts = append(s.Doubts, result.Doubt{Verdict: result.Invalid, Reason: err.Error()})
			}
		}
	}
	s.Values = result.FiguresOf(&v)
	return s, o, nil
}

// PeakRSS returns the peak memory of the command's processes.
func (o Outcome) PeakRSS() result.PeakRSS {
	p := result.PeakRSS{MaxRSSBytes: &o.MaxRSSBytes, MaxRSSFloorBytes: o.MaxRSSFloorBytes}
	p.MaxRSSBytes = p.Known()
	return p
}

// in returns the figure in what a command wrote: to stdout, or else to stderr; nil: it is not there. The error is that it
// is not there, or that it cannot be judged.
func (m Metric) in(o Outcome) (*float64, error) {
	figure, err := m.Find(o.Stdout)
	if err != nil {
		if inStderr, stderrErr := m.Find(o.Stderr); stderrErr == nil {
			figure, err = inStderr, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if figure <= 0 {
		err = fmt.Errorf("the metric is %v, and only figures above 0 have a ratio", figure)
	}
	return &figure, err
}

// Failure describes how a command failed, with the end of its stderr if that was kept; "" if it did not fail.
func (r Request) Failure(o Outcome) string {
	how := ""
	failed := o.ExitCode != 0 && !slices.Contains(r.Exits, o.ExitCode)
	switch {
	case o.TimedOut:
		how = "the command took longer than the timeout"
	case failed && o.Signal != 0:
		how = fmt.Sprintf("the command was ended by signal %d", o.Signal)
	case failed:
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
