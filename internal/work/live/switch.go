package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/subject"
	"gorun/internal/record/result"
)

// mostSwitch is the longest time that a switch may take. After one that takes as long as the washout, the first threads have had the
// setting for twice as long as the last ones when the block begins.
func (s *sampler) mostSwitch() time.Duration { return max(mostSwitch, s.washout) }

// slowSwitch is the error of a switch that took longer.
func (s *sampler) slowSwitch(took time.Duration) error {
	return hint.With(fmt.Errorf("the switch of all threads took %v, and --washout is %v", took.Round(time.Millisecond), s.washout),
		fmt.Sprintf("give --washout %v", washoutFor(took)))
}

// change gives the program another setting briefly, and then the one that is wanted.
func (s *sampler) change(ctx context.Context, to subject.Setting) (took time.Duration, threads int, err error) {
	if _, err := s.putBackMeanwhile(); err != nil {
		return 0, 0, err
	}
	s.switchedAt = linux.Monotonic()
	others := slices.DeleteFunc(slices.Clone(s.settings), func(o subject.Setting) bool { return o.String() == to.String() })
	if len(others) > 0 {
		if _, _, err := s.switcher.Give(others[s.random.IntN(len(others))]); err != nil {
			return 0, 0, err
		}
		if err := s.sleep(ctx, linux.Monotonic()+brief); err != nil {
			return 0, 0, err
		}
	}
	threads, took, err = s.switcher.Give(to)
	return took, threads, err
}

// putBackMeanwhile reports whether the guardian has put the program back since it was switched, while gorun was stopped by a signal.
func (s *sampler) putBackMeanwhile() (bool, error) {
	if linux.Monotonic()-s.switchedAt < s.switcher.State().Longest {
		return false, nil
	}
	return s.guardian.PutBackMeanwhile(s.switcher.State())
}

// readBack reads back each thread. One that is not as requested makes the block invalid.
func (s *sampler) readBack(sample *result.Sample) error {
	if back, err := s.putBackMeanwhile(); err != nil {
		return err
	} else if back {
		sample.Doubt(result.Invalid, "gorun was stopped for so long that its guardian has put the program back meanwhile")
	}
	checked, differs, err := s.switcher.ReadBack()
	if len(differs) > 3 {
		differs = append(differs[:2], fmt.Sprintf("and %d threads more", len(differs)-2))
	}
	sample.Placement.Add(checked, differs)
	return err
}

// sleep sleeps until a time of CLOCK_MONOTONIC, in the kernel: a sleep of Go's would end when a processor of its scheduler is free.
func (s *sampler) sleep(ctx context.Context, until time.Duration) error {
	const step = 20 * time.Millisecond
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		at := linux.Monotonic()
		if at >= until {
			return nil
		}
		if err := linux.SleepUntil(min(until, at+step)); err != nil {
			return err
		}
	}
}
