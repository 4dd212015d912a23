package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/start/launch"
)

// Measure runs a command once and returns a sample without figures. It returns an error if the command never ran; a command that
// failed gives a sample.
func Measure(ctx context.Context, c launch.Command) (s result.Sample, o launch.Outcome, err error) {
	if o, err = launch.Run(ctx, c); err != nil {
		return s, o, err
	}
	if o.Copies != nil {
		o.Stdout, o.Lost = o.Copies[0].Stdout, o.Copies[0].Lost // each of them writes about the same
	}
	s = result.Sample{
		Seconds: o.WallSeconds, Partial: ctx.Err() != nil, Unwaited: o.Unwaited,
		Placement: result.Placement{
			Requested: c.Setting.String(), Verified: len(o.Mismatches) == 0, Checked: o.Checked, Mismatches: o.Mismatches,
		},
	}
	for _, change := range o.Changed { // it was started as requested
		s.Placement.Mismatches = append(s.Placement.Mismatches, change)
		s.Doubt(result.Suspect, "%s", change)
	}
	measure.Used(&s, o.Usage)
	s.Quality.Signals.StoppedSeconds = o.StoppedSeconds
	if o.Turns.Count > 0 && o.Copies == nil { // copies wait for each other
		s.Quality.Signals.RunQueueSeconds, s.QueuedShare = &o.Turns.Waited, o.Turns.Without(s.CPUSeconds())/o.WallSeconds
	}
	return s, o, nil
}

// howFailed describes how a command failed, with the end of its stderr if that was kept; "" if it did not fail. The accepted exit
// codes are not failures.
func howFailed(o launch.Outcome, accepted exits) string {
	how := ""
	failed := func(e launch.Ending) bool {
		return e.ExitCode != 0 && !e.Late && !slices.Contains(accepted, e.ExitCode)
	}
	who, of := "the command", o.Ending
	if i := slices.IndexFunc(o.Copies, failed); i >= 0 {
		who, of = fmt.Sprintf("copy %d", i), o.Copies[i]
	}
	switch {
	case o.TimedOut:
		how = who + " took longer than the timeout"
	case failed(of) && of.Signal != 0:
		how = fmt.Sprintf("%s was ended by signal %d", who, of.Signal)
	case failed(of):
		how = fmt.Sprintf("%s ended with exit code %d", who, of.ExitCode)
	case len(o.Left) > 0:
		how = fmt.Sprintf("the command left processes that cannot be killed: %v", o.Left)
	default:
		return ""
	}
	if end := EndOf(of.Stderr); end != "" {
		how += ": " + end
	}
	return how
}

// EndOf returns the end of an output, in one line.
func EndOf(output []byte) string {
	const shown = 300 // bytes
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(output[max(0, len(output)-shown):]), "�")), " ")
}
