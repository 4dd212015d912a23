package primes

import "sync/atomic"

const (
	// runDivided and stepDivided are the longest run and progression whose numbers are divided by primes one by one:
	// most have a small divisor, while a sieve first finds the first multiple of every prime (in a progression by a
	// modular inverse, which costs as much as some dozen divisions).
	runDivided  = 8
	stepDivided = 64
	stepSegment = 1 << 15 // numbers, a byte each: they fit the L1 cache
)

// divideSteps tests each number with primes up to its square root.
func (s *sieve) divideSteps(r Range, stop *atomic.Bool) (t Tally) {
	for k := range r.Count {
		if stop.Load() {
			break
		}
		n := r.First + k*r.Step
		prime := n >= 2
		finished := s.each(squareRoot(n), stop, func(p uint64) bool {
			prime = n%p != 0
			return prime
		})
		if !finished && prime {
			break
		}
		t.Numbers++
		if prime {
			t.Primes++
		}
	}
	return t
}

// countSteps sieves the indexes k of the numbers First + k·Step: p divides those with k0, k0+p, …, where
// k0 = −First·Step⁻¹ mod p; or all or none if p divides Step.
func (s *sieve) countSteps(r Range, stop *atomic.Bool) (t Tally) {
	composite := make([]bool, min(stepSegment, r.Count))
	for start := uint64(0); start < r.Count; start += stepSegment {
		segment := composite[:min(stepSegment, r.Count-start)]
		clear(segment)
		first := r.First + start*r.Step
		last := first + uint64(len(segment)-1)*r.Step
		segment[0] = first < 2
		finished := s.each(squareRoot(last), stop, func(p uint64) bool {
			stride, k, ok := firstMultiple(first, r.Step, p)
			if !ok {
				return true
			}
			if first < p*p { // multiples below p² have a smaller prime factor, and p itself is prime
				if from := (p*p - first + r.Step - 1) / r.Step; from > k {
					k += (from - k + stride - 1) / stride * stride
				}
			}
			for ; k < uint64(len(segment)); k += stride {
				segment[k] = true
			}
			return true
		})
		if !finished {
			return t
		}
		t.Numbers += uint64(len(segment))
		for _, c := range segment {
			if !c {
				t.Primes++
			}
		}
	}
	return t
}

// firstMultiple returns the first index of a multiple of p in first + k·step, and the distance of such indexes.
func firstMultiple(first, step, p uint64) (stride, k uint64, ok bool) {
	first %= p
	step %= p
	if step == 0 {
		return 1, 0, first == 0
	}
	return p, (p - first) % p * inverse(step, p) % p, true // p < 2^32: no overflow
}

// inverse returns a⁻¹ modulo the prime p, for 0 < a < p, by Euclid's algorithm.
func inverse(a, p uint64) uint64 {
	r0, r1 := int64(p), int64(a)
	t0, t1 := int64(0), int64(1)
	for r1 != 0 {
		q := r0 / r1
		r0, r1 = r1, r0-q*r1
		t0, t1 = t1, t0-q*t1
	}
	if t0 < 0 {
		t0 += int64(p)
	}
	return uint64(t0)
}
