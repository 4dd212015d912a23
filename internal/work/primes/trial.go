package primes

import (
	"math"
	"sync/atomic"
)

// trialGo is the trial method. It uses that a divisor above √n has a cofactor below it, and that an odd number has no
// even divisor.
var trialGo = Kernel{
	Name:  "go",
	Usage: "plain Go: one 64-bit division per trial",
	New:   func(uint64) Counter { return trial{} },
}

type trial struct{}

// Grain assumes that a number costs 1/8 of the divisions of a prime of its size, since composites end early.
func (trial) Grain(n uint64) uint64 {
	return grain(divisionNanoseconds * (2 + math.Sqrt(float64(n))/16))
}

func (trial) Count(r Range, stop *atomic.Bool) (t Tally) {
	for k := range r.Count {
		prime, trials, finished := trialDivide(r.First+k*r.Step, stop)
		if !finished {
			break
		}
		t.Numbers++
		t.Trials += trials
		if prime {
			t.Primes++
		}
	}
	return t
}

// trialDivide tests one number; finished is false if stop was set first.
func trialDivide(n uint64, stop *atomic.Bool) (prime bool, trials uint64, finished bool) {
	switch {
	case stop.Load():
		return false, 0, false
	case n < 4:
		return n >= 2, 0, true
	case n%2 == 0:
		return false, 1, true
	}
	trials = 1
	for d := uint64(3); d*d <= n; d += 2 {
		trials++
		if n%d == 0 {
			return false, trials, true
		}
		if trials%divisionChunk == 0 && stop.Load() {
			return false, 0, false
		}
	}
	return true, trials, true
}
