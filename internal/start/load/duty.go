package load

import "time"

// clocks are the clocks of a duty cycle: the kernel's, or a test's.
type clocks interface {
	wall() time.Duration // monotonic
	used() time.Duration // CPU time of the process
	burn()               // uses some CPU time, short compared with a period
	sleep(time.Duration) // until that wall time or a little later
}

// duty burns and sleeps until stop returns true; it calls stop once per period.
//
// It is a closed loop: each period adds its quota of CPU time to the burner's debt, and the CPU time that the process
// used is subtracted. So errors by the length of a burn or a late wake-up do not accumulate. CPU time lost to other
// programs is made up for in the following periods, but only up to one quota, so that after a long stall the burner
// does not burn without a pause. Periods end at absolute times; those skipped by a stall count as periods without a
// burn.
func (o Burner) duty(c clocks, stop func() bool) {
	quota := time.Duration(o.Percent / 100 * float64(Period))
	deadline := c.wall().Truncate(Period) + Period + o.Phase
	c.sleep(deadline)
	now, used := c.wall(), c.used()
	var owed time.Duration
	for !stop() {
		deadline += Period
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
		skipped := (now - deadline) / Period
		deadline += skipped * Period
		owed = min(quota, owed+skipped*quota-(used-before))
	}
}
