// Package measure measures a sample: its times, and what disturbed it. A Watcher reads the counters of the kernel before and after the
// work, and from them the sample gets its grade. It also describes the host of a run.
package measure

import (
	"fmt"
	"math"
	"slices"

	"gorun/internal/record/result"
)

// Thresholds of doubt. A sample that exceeds none of them is valid.
const (
	// Above this share of the run's CPU capacity, time taken by the hypervisor or by other programs moves a median by
	// more than the 1-2% that a comparison wants to see.
	disturbedShare = 0.02
	// Of the kernel's ticks (result.Tick), fewer than these on one CPU are rounding.
	disturbedTicks = 3
	// In a sample too short for ticks, the share of its time for which a thread waited for a CPU that other programs had. Of the
	// shortest commands, gorun's own supervisor may take 30%.
	waitedShare = 1.0 / 3
	// In fewer ticks than these, the counters of ticks show their rounding and nothing else.
	leastTicks = 5
)

// Judge decides whether a sample of a run on this number of CPUs can be trusted.
func Judge(s *result.Sample, cpus int) {
	q := &s.Quality
	q.Grade, q.Reasons = result.Valid, []string{}
	doubt := func(v result.Grade, format string, args ...any) {
		if v == result.Invalid || q.Grade == result.Valid {
			q.Grade = v
		}
		reason := fmt.Sprintf(format, args...)
		if !slices.Contains(q.Reasons, reason) { // a value that could be read neither before nor after the sample
			q.Reasons = append(q.Reasons, reason)
		}
	}
	if !s.Placement.Verified {
		why := slices.Concat(s.Placement.Mismatches, []string{"no reason recorded"})
		doubt(result.Invalid, "the placement is not the requested one: %s", why[0])
	}
	for _, d := range s.Doubts {
		doubt(d.Grade, "%s", d.Reason)
	}
	if s.Partial {
		doubt(result.Suspect, "cut short")
	}
	sig := &q.Signals
	rounding := disturbedTicks * result.Tick * math.Sqrt(float64(cpus)) // the CPUs' ticks are independent
	share := func(seconds *float64, format string) {
		if part := sig.Share(seconds, cpus); part > disturbedShare && *seconds > rounding {
			doubt(result.Suspect, format, *seconds, 100*part)
		}
	}
	share(sig.StealSeconds, "the hypervisor stole %.2f s (%.0f%% of the CPU time there was)")
	share(sig.OtherSeconds, "other programs used %.2f s (%.0f%% of the CPU time there was)")
	if sig.OtherSeconds == nil && s.QueuedShare > waitedShare {
		doubt(result.Suspect, "waited %.0f%% of the time for a busy CPU", 100*s.QueuedShare)
	}
	lost := func(seconds *float64, format string) {
		if seconds != nil && *seconds > 0 {
			doubt(result.Suspect, format, *seconds)
		}
	}
	lost(sig.ThrottledSeconds, "the cgroup's CPU quota stopped threads for %.3f s")
	lost(sig.StoppedSeconds, "stopped for %.2f s by a signal (SIGSTOP, or one from a terminal)")
	lost(sig.SuspendedSeconds, "the machine was suspended for %.1f s")
	if f := sig.MajorFaults; f != nil && *f > 0 {
		doubt(result.Suspect, "%d major page faults (reads from disk)", *f)
	}
}
