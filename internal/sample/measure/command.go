package measure

import (
	"context"

	"gorun/internal/record/result"
	"gorun/internal/start/launch"
)

// Command runs a command once and returns a sample without figures. It returns an error if the command never ran; a command that
// failed gives a sample.
func Command(ctx context.Context, c launch.Command) (s result.Sample, o launch.Outcome, err error) {
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
	Used(&s, o.Usage)
	s.Quality.Signals.StoppedSeconds = o.StoppedSeconds
	if o.Turns.Count > 0 && o.Copies == nil { // copies wait for each other
		s.Quality.Signals.RunQueueSeconds, s.QueuedShare = new(o.Turns.Waited), o.Turns.Without(s.CPUSeconds())/o.WallSeconds
	}
	return s, o, nil
}
