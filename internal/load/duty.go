package load

import (
	"math"
	"time"
)

// clocks are what a duty cycle lives by: those of the kernel, or a test's.
type clocks interface {
	wall() time.Duration // monotonic
	used() time.Duration // CPU time of the process
	burn()               // takes some CPU time: little beside a period
	sleep(time.Duration) // until that wall time, or somewhat longer
}

// duty burns and sleeps until stop, which it asks once a period.
//
// It is a closed loop: each period adds its quota of CPU time to what the burner owes, and what the process was charged
// for is taken off. So neither the length of a burn nor a late wake-up adds up, and others that take the CPU for a
// while are made good for in the periods that follow; but for one quota at most: after a long stall the burner goes on
// at its pace, rather than to burn without a pause. Periods end at absolute times; those that a stall has skipped count
// as periods in which nothing was burnt.
func (o Options) duty(c clocks, stop func() bool) Report {
	quota := time.Duration(o.Percent / 100 * float64(o.Period))
	deadline := c.wall().Truncate(o.Period) + o.Period + o.Phase
	c.sleep(deadline)
	r := Report{CPU: o.CPU, Asked: o.Percent}
	now, used := c.wall(), c.used()
	begin, base := now, used
	var owed, lost time.Duration
	for !stop() {
		deadline += o.Period
		owed += quota
		before := used
		for used-before < owed && now < deadline {
			c.burn()
			now, used = c.wall(), c.used()
		}
		if now < deadline {
			c.sleep(deadline)
			now, used = c.wall(), c.used()
		}
		skipped := (now - deadline) / o.Period
		deadline += skipped * o.Period
		owed += skipped*quota - (used - before)
		if owed > quota {
			lost += owed - quota
			owed = quota
			r.Stalls++
		}
		r.Periods += 1 + uint64(skipped)
		percent := 100 * float64(used-before) / float64((1+skipped)*o.Period)
		r.WorstPeriod = max(r.WorstPeriod, math.Abs(percent-o.Percent))
	}
	r.WallSeconds, r.CPUSeconds, r.LostSeconds = (now - begin).Seconds(), (used - base).Seconds(), lost.Seconds()
	if r.Periods > 0 {
		r.Percent = 100 * r.CPUSeconds / r.WallSeconds
	}
	return r
}
