package measure

import (
	"cmp"
	"context"
	"slices"

	"gorun/internal/record/result"
	"gorun/internal/start/launch"
)

// Command runs a group once and returns a sample without figures. It returns an error if a command never ran; a command that failed
// gives a sample.
func Command(ctx context.Context, g launch.Group) (s result.Sample, o launch.Outcome, err error) {
	if o, err = launch.Run(ctx, g); err != nil {
		return s, o, err
	}
	s = result.Sample{
		Seconds: o.WallSeconds, Partial: ctx.Err() != nil, Unwaited: o.Unwaited, Counters: o.Counters,
		Placement: result.Placement{
			Requested: g.Members[0].Setting.String(), Verified: len(o.Mismatches) == 0, Checked: o.Checked, Mismatches: o.Mismatches,
		},
	}
	for _, change := range o.Changed { // it was started as requested
		s.Placement.Mismatches = append(s.Placement.Mismatches, change)
		s.Doubt(result.Suspect, "%s", change)
	}
	s.Looks = o.Looks
	Used(&s, o.Usage)
	s.Quality.Signals.StoppedSeconds = o.StoppedSeconds
	if o.MovesBy != "" && o.MovesLost == 0 {
		moves := uint64(0)
		for _, of := range o.Moves {
			moves += of.Count
		}
		s.Quality.Signals.Migrations, s.Quality.Signals.MigrationsBy = &moves, o.MovesBy
	}
	if o.Turns.Count == 0 {
		return s, o, nil
	}
	whole := o.Ending
	if g.Gate { // members may wait for each other, so that they are only known one by one
		whole = slices.MaxFunc(o.Members, func(a, b launch.Ending) int { return cmp.Compare(a.WallSeconds, b.WallSeconds) })
	} else {
		s.Quality.Signals.RunQueueSeconds, s.QueuedShare = new(o.Turns.Waited), o.Turns.Without(s.CPUSeconds())/o.WallSeconds
	}
	s.Account = result.AccountOf(whole.WallSeconds, whole.Turns.OnCPU, whole.Turns.Waited, whole.UserSeconds, whole.SystemSeconds)
	if s.Account != nil && whole.Others != nil {
		s.Account.Saw(whole.Others.OnCPU, whole.Others.Waited)
	}
	return s, o, nil
}
