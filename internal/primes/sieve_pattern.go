package primes

import "encoding/binary"

// wheelPattern is the number of bytes of the wheel that patterns fill at a time.
const wheelPattern = 1 << 10

// patternPrimes are the primes from 7 to wheelPresieved in groups. The multiples of a group repeat with a period of its
// product in bytes, so they are crossed off once, in a pattern that is then copied.
var patternPrimes = [10][]int{
	{7, 11, 13}, {17, 19, 23}, {29, 31}, {37, 41}, {43, 47}, {53, 59}, {61, 67}, {71, 73}, {79, 83}, {89, 97},
}

// pattern is one period, and wheelPattern bytes of the next.
type pattern struct {
	period uint64
	wheel  []byte
}

type patterns [len(patternPrimes)]pattern

func newPatterns() (all patterns) {
	for k, group := range patternPrimes {
		period := 1
		for _, p := range group {
			period *= p
		}
		wheel := make([]byte, period+wheelPattern)
		for i := range wheel {
			wheel[i] = 0xFF
		}
		for _, p := range group {
			crossWithin(wheel, p, 0)
		}
		all[k] = pattern{uint64(period), wheel}
	}
	return all
}

// presieve sets the first n bytes of `to`, which begin with byte `first` of the wheel, to all numbers but 1 and the
// multiples of the pattern primes. It overruns them by up to wheelPattern bytes.
func (s *sieve) presieve(to []byte, n int, first uint64) {
	for at := 0; at < n; at += wheelPattern {
		var from [len(patternPrimes)]*[wheelPattern]byte
		for k := range s.patterns {
			p := &s.patterns[k]
			from[k] = (*[wheelPattern]byte)(p.wheel[(first+uint64(at))%p.period:])
		}
		part := (*[wheelPattern]byte)(to[at:])
		intersect(part, from[0], from[1], from[2], from[3], from[4], from[5])
		intersect(part, from[6], from[7], from[8], from[9], from[9], part)
	}
	if first > wheelPresieved/30 {
		return
	}
	for _, p := range s.primes[3:wheelStart] {
		if b := uint64(p / 30); b >= first {
			to[b-first] |= 1 << wheelIndex[p%30]
		}
	}
	if first == 0 {
		to[0] &^= 1 // the number 1
	}
}

// intersect sets in `to` the bits that all the others have.
func intersect(to, a, b, c, d, e, f *[wheelPattern]byte) {
	le := binary.LittleEndian
	for i := 0; i < wheelPattern; i += 8 {
		all := le.Uint64(a[i:]) & le.Uint64(b[i:]) & le.Uint64(c[i:])
		all &= le.Uint64(d[i:]) & le.Uint64(e[i:]) & le.Uint64(f[i:])
		le.PutUint64(to[i:], all)
	}
}
