package measure

import "time"

// canarySteps are the steps of the canary's loop. At 4 cycles each (3 of a multiplication, 1 of an addition) they take
// 0.17 ms on a CPU of 3 GHz: long enough for the clock, and short beside any sample.
const canarySteps = 1 << 17

// canary makes a fixed number of steps of a linear congruential generator (Knuth's MMIX), and returns how many seconds
// they took and where they end. Each step needs the one before, so that nothing can shorten or overlap them, and they
// touch no memory: a longer time tells that the CPU was slower just then, for it clocked lower, shared its core or was
// taken away for a while. It is not inlined where nobody asks for the end, as the steps could be left out there.
//
//go:noinline
func canary(x uint64) (seconds float64, end uint64) {
	begun := time.Now()
	for range canarySteps {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return time.Since(begun).Seconds(), x
}
