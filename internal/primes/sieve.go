package primes

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
)

// sieveGo is the segmented sieve of Eratosthenes. Consecutive numbers go through the wheel (sieve_wheel.go), other
// progressions through sieve_step.go. It makes no trials.
var sieveGo = Kernel{
	Name:  "go",
	Usage: "plain Go: eight numbers of every 30 in a byte, segments that fit the caches",
	New:   func(limit uint64) Counter { return newSieve(limit) },
}

// sieveStored limits the stored sieving primes: enough for limits up to 4·10^12. Larger primes are computed again for
// each segment, which is then larger too, so that memory stays within some MiB for any limit.
const sieveStored = 1 << 21

// sieve holds the sieving primes, shared by all workers.
type sieve struct {
	primes   []uint32 // all up to bound
	bound    uint64   // at most sieveStored
	patterns patterns
	scratch  sync.Pool // of *wheelScratch
}

func newSieve(limit uint64) *sieve {
	s := &sieve{bound: min(sieveStored, max(wheelPresieved, squareRoot(limit))), patterns: newPatterns()}
	s.scratch.New = func() any { return new(wheelScratch) }
	composite := make([]bool, s.bound+1)
	for p := uint64(2); p <= s.bound; p++ {
		if composite[p] {
			continue
		}
		s.primes = append(s.primes, uint32(p))
		for m := p * p; m <= s.bound; m += p {
			composite[m] = true
		}
	}
	return s
}

// Grain grows with √n, since each call first finds the first multiple of every sieving prime.
func (s *sieve) Grain(n uint64) uint64 {
	return min(max(1<<19, 256*squareRoot(n)), 1<<30)
}

func (s *sieve) Count(r Range, stop *atomic.Bool) Tally {
	switch {
	case r.Count <= runDivided || r.Step > 1 && r.Count <= stepDivided:
		return s.divideSteps(r, stop)
	case r.Step == 1:
		return s.countRun(r.First, r.First+(r.Count-1), stop)
	default:
		return s.countSteps(r, stop)
	}
}

// countRun counts the primes among lo…hi.
func (s *sieve) countRun(lo, hi uint64, stop *atomic.Bool) (t Tally) {
	s.segments(lo, hi, stop, func(start uint64, segment []byte) bool {
		end := min(hi, start+30*uint64(len(segment))-1)
		for _, p := range [...]uint64{2, 3, 5} { // not on the wheel
			if max(lo, start) <= p && p <= end {
				t.Primes++
			}
		}
		t.Primes += countBits(segment)
		t.Numbers += end - max(lo, start) + 1
		return true
	})
	return t
}

// each yields the primes up to hi in ascending order. It returns false if stop was set first, or if yield returned
// false.
func (s *sieve) each(hi uint64, stop *atomic.Bool, yield func(p uint64) bool) bool {
	for k, p := range s.primes {
		if uint64(p) > hi {
			return true
		}
		if k%1024 == 0 && stop.Load() || !yield(uint64(p)) {
			return false
		}
	}
	return s.stream(hi, stop, yield)
}

// stream yields the primes above those that are stored, up to hi; see each.
func (s *sieve) stream(hi uint64, stop *atomic.Bool, yield func(p uint64) bool) bool {
	if hi <= s.bound {
		return true
	}
	return s.segments(s.bound+1, hi, stop, func(start uint64, segment []byte) bool {
		for b, left := range segment {
			if b%1024 == 0 && stop.Load() {
				return false
			}
			for ; left != 0; left &= left - 1 {
				if !yield(start + 30*uint64(b) + wheelResidues[bits.TrailingZeros8(left)]) {
					return false
				}
			}
		}
		return true
	})
}

// squareRoot is ⌊√n⌋ for n up to MaxLimit. The root of the rounded n may be too large, never too small: for n = r²
// rounding moves the root by less than half of what separates r from the float64 below it.
func squareRoot(n uint64) uint64 {
	root := uint64(math.Sqrt(float64(n)))
	for root*root > n {
		root--
	}
	return root
}
