package primes

import "sync/atomic"

// moduloGo is the modulo method: the original's loop, one 64-bit signed division per trial, limited by the CPU's
// divider. The other methods are compared with it, so it is not optimised.
var moduloGo = Kernel{
	Name:  "go",
	Usage: "plain Go: one 64-bit division per trial",
	New:   func(uint64) Counter { return modulo{} },
}

type modulo struct{}

const (
	divisionNanoseconds = 3.5     // a 64-bit division, on a CPU of 3 GHz
	divisionChunk       = 1 << 16 // divisions, 0.2 ms, between two checks of stop
)

func (modulo) Grain(n uint64) uint64 { return grain(float64(n) * divisionNanoseconds) }

func (modulo) Count(r Range, stop *atomic.Bool) (t Tally) {
	for k := range r.Count {
		n := int64(r.First + k*r.Step)
		divisors := 0
		for done := int64(0); ; {
			if stop.Load() {
				return t
			}
			if done == n {
				break
			}
			end := done + min(n-done, divisionChunk)
			for i := done + 1; i <= end; i++ {
				if n%i == 0 {
					divisors++
				}
			}
			done = end
		}
		t.Numbers++
		t.Trials += uint64(n)
		if divisors == 2 {
			t.Primes++
		}
	}
	return t
}
