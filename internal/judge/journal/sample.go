package journal

import (
	"fmt"
	"math"
	"slices"

	"gorun/internal/record/result"
)

// longer reports whether an inner time is longer than the outer time that contains it, with an allowance: the two
// clocks are read one after the other, possibly by different processes.
func longer(inner, outer float64) bool { return inner > outer*1.01+1e-3 }

// checkSample checks a sample by itself.
func checkSample(s *result.Sample) error {
	for _, time := range []struct {
		of      string
		seconds float64
	}{
		{"wall time", s.Seconds},
		{"user time", s.UserSeconds},
		{"system time", s.SystemSeconds},
		{"load time", s.LoadSeconds},
		{"watched time", s.Quality.Signals.WatchedSeconds},
	} {
		if !(time.seconds >= 0) {
			return fmt.Errorf("the sample's %s is %v s", time.of, time.seconds)
		}
	}
	q := s.Quality
	switch {
	case !slices.Contains(result.Grades[:], q.Grade):
		return fmt.Errorf("%q is not a verdict on a sample", q.Grade)
	case q.Grade == result.Valid && len(q.Reasons) > 0:
		return fmt.Errorf("the sample is valid, but has a reason against it")
	case q.Grade != result.Valid && len(q.Reasons) == 0:
		return fmt.Errorf("the sample is %s, but has no reason", q.Grade)
	case q.Grade != result.Invalid && !s.Placement.Verified:
		return fmt.Errorf("the sample is %s, but its placement was not verified", q.Grade)
	case s.Placement.Verified && len(s.Placement.Mismatches) > 0:
		return fmt.Errorf("the sample's placement was verified, but has a mismatch")
	case s.Placement.Checked < 0:
		return fmt.Errorf("the sample's placement was checked %d times", s.Placement.Checked)
	case s.Good() && s.Seconds == 0:
		return fmt.Errorf("the sample is %s, but took no time", q.Grade)
	case q.Signals.WatchedSeconds > 0 && longer(s.Seconds, q.Signals.WatchedSeconds):
		return fmt.Errorf("the sample took %v s, but was watched for %v s", s.Seconds, q.Signals.WatchedSeconds)
	case s.Account != nil && s.Account.Wall() != uint64(math.Round(s.Seconds*1e9)):
		return fmt.Errorf("the parts of the sample's time add up to %d ns, but it took %v s", s.Account.Wall(), s.Seconds)
	case s.Account != nil && s.Account.Kernel != nil && *s.Account.Kernel > s.Account.CPU():
		return fmt.Errorf("the sample was in the kernel for %d ns, but used %d ns of CPU time", *s.Account.Kernel, s.Account.CPU())
	}
	if s.Workers == nil {
		return nil
	}
	return checkWorkers(s.Workers)
}

func checkWorkers(w *result.Workers) error {
	d := w.Seconds
	switch {
	case w.Finished < 0 || w.Finished > w.Count:
		return fmt.Errorf("%d of the sample's %d workers finished", w.Finished, w.Count)
	case d.Min > d.Median || d.Median > d.P99 || d.P99 > d.Max || !near(d.Mean, max(d.Min, min(d.Mean, d.Max))):
		return fmt.Errorf("the times of the sample's workers are not in order: %+v", d)
	case d.Mean > 0 && !near(w.Imbalance, d.Max/d.Mean):
		return fmt.Errorf("the imbalance of the sample's workers is %v, but their times give %v", w.Imbalance, d.Max/d.Mean)
	}
	return nil
}
