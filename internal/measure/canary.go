package measure

import "time"

// canarySteps are the steps of the canary's loop. At 4 cycles each (3 of a multiplication, 1 of an addition) they take
// 0.17 ms on a CPU of 3 GHz: long enough for the clock, and short compared with any sample.
const canarySteps = 1 << 17

// canary makes a fixed number of steps of a linear congruential generator (Knuth's MMIX), and returns how many seconds
// they took and the final state. Each step depends on the previous one, so that they cannot be shortened or overlapped,
// and they access no memory: a longer time shows that the CPU was slower at that moment, because of a lower clock, a
// shared core or preemption. It is not inlined, since the compiler could then remove the steps where end is unused.
//
//go:noinline
func canary(x uint64) (seconds float64, end uint64) {
	begun := time.Now()
	for range canarySteps {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return time.Since(begun).Seconds(), x
}
