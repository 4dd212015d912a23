package primes

import (
	"encoding/binary"
	"math/bits"
	"sort"
	"sync/atomic"
)

// The wheel keeps the eight numbers of every 30 that 2, 3 and 5 do not divide: bit k of byte b is 30·b +
// wheelResidues[k], and is set while the number may be prime.
//
// A prime p = 30q + r crosses off p·m for the m on the wheel. While m runs through one turn 30a + w, for each residue
// w, the byte of p·m is a·p + q·w + ⌊r·w/30⌋ and its bit is that of r·w mod 30: the same eight offsets from a·p in
// every turn.
var wheelResidues = [8]uint64{1, 7, 11, 13, 17, 19, 23, 29}

const (
	// wheelBlock is the part of a segment that the small primes work on: 40 KiB was the fastest with 48 KiB of L1 data
	// cache, and 32 KiB was 7% slower.
	wheelBlock = 40 << 10
	// wheelSegment is the part that the larger primes work on; it fits the L2 cache.
	wheelSegment = 16 * wheelBlock
	// wheelHuge is the segment size if the sieving primes are not all stored.
	wheelHuge = 4 << 20
	// wheelSmall is the least of the larger primes, which have few multiples in a block.
	wheelSmall = 16 << 10
	// wheelSlack surrounds a segment, so that primes below it can cross off whole turns.
	wheelSlack = 64 << 10
	// wheelPresieved is the largest prime whose multiples are crossed off by patterns.
	wheelPresieved = 97
	// wheelStart is the index of the first prime after it.
	wheelStart = 25
)

// wheelScratch is the working memory of a call of segments.
type wheelScratch struct {
	buffer []byte
	// turn[k] is where the next turn of the k-th prime above wheelPresieved begins, in bytes from the start of the
	// segment (of the block for small primes). It has an entry for each prime whose square was reached.
	turn []int32
}

// segments sieves lo…hi and shows each segment, whose first byte begins with the number start (a multiple of 30): bits
// are set for the primes from 7 on within lo…hi. It returns false if stop was set first or visit returned false.
func (s *sieve) segments(lo, hi uint64, stop *atomic.Bool, visit func(start uint64, segment []byte) bool) bool {
	size := uint64(wheelSegment)
	if squareRoot(hi) > s.bound {
		size = wheelHuge
	}
	scratch := s.scratch.Get().(*wheelScratch)
	defer s.scratch.Put(scratch)
	scratch.turn = scratch.turn[:0]
	for first, end := lo/30, hi/30+1; first < end; first += size {
		n := min(size, end-first)
		buffer := scratch.bytes(n)
		root := squareRoot(min(hi, 30*(first+n)-1))
		if !s.cross(buffer, first, root, scratch, stop) {
			return false
		}
		segment := buffer[wheelSlack:][:n]
		if first == lo/30 {
			segment[0] &= 0xFF << residuesBelow(lo%30)
		}
		if first+n == end {
			segment[n-1] &^= 0xFF << residuesBelow(hi%30+1)
		}
		if !visit(30*first, segment) {
			return false
		}
	}
	return true
}

// bytes returns a buffer for a segment of n bytes, with wheelSlack bytes on either side of it.
func (w *wheelScratch) bytes(n uint64) []byte {
	if uint64(cap(w.buffer)) < n+2*wheelSlack {
		w.buffer = make([]byte, n+2*wheelSlack)
	}
	return w.buffer[:n+2*wheelSlack]
}

// cross clears the multiples of all primes up to root in the segment within the buffer, which begins with byte `first`
// of the wheel. It returns false if stop was set first.
func (s *sieve) cross(buffer []byte, first, root uint64, w *wheelScratch, stop *atomic.Bool) bool {
	segment := buffer[wheelSlack : len(buffer)-wheelSlack]
	primes := s.primes[wheelStart:]
	for k := len(w.turn); k < len(primes) && uint64(primes[k]) <= root; k++ {
		w.turn = append(w.turn, int32(firstTurn(uint64(primes[k]), first)))
	}
	primes = primes[:len(w.turn)]
	from := func(p uint32) int {
		return sort.Search(len(primes), func(k int) bool { return primes[k] >= p })
	}
	small, large := from(wheelSmall), from(wheelSlack)

	for at := 0; at < len(segment); at += wheelBlock {
		if stop.Load() {
			return false
		}
		size := min(wheelBlock, len(segment)-at)
		s.presieve(buffer[wheelSlack+at:], size, first+uint64(at))
		block := buffer[at : at+size+2*wheelSlack]
		for k, p := range primes[:small] {
			w.turn[k] = int32(crossTurns(block, int(p), int(w.turn[k])))
		}
	}
	for k := small; k < large; k++ {
		w.turn[k] = int32(crossTurns(buffer, int(primes[k]), int(w.turn[k])))
	}
	for k := large; k < len(primes); k++ {
		if k%1024 == 0 && stop.Load() {
			return false
		}
		w.turn[k] = int32(crossWithin(segment, int(primes[k]), int(w.turn[k])))
	}
	return s.stream(root, stop, func(p uint64) bool {
		crossWithin(segment, int(p), firstTurn(p, first))
		return true
	})
}

// firstTurn returns where the turn with p's first multiple to cross off begins, in bytes from byte `first` on: that of
// p·p, or of the first one after the start of that byte.
func firstTurn(p, first uint64) int {
	m := max(p, (30*first+p-1)/p)
	return int(m/30*p) - int(first)
}

// crossWithin crosses off p's multiples in s from the turn that begins at byte `turn` on (before s, within, or after),
// and returns the start of the first unfinished turn, relative to the end of s.
func crossWithin(s []byte, p, turn int) int {
	q, class := p/30, &wheelClasses[wheelIndex[p%30]]
	for turn < len(s) {
		for k, w := range wheelResidues {
			if at := turn + int(w)*q + int(class.bytes[k]); uint(at) < uint(len(s)) {
				s[at] &^= class.bits[k]
			}
		}
		if turn+p > len(s) {
			break
		}
		turn += p
	}
	return turn - len(s)
}

// wheelClass has ⌊r·w/30⌋ and the bit of r·w mod 30 for each residue w, of one residue r.
type wheelClass struct{ bytes, bits [8]byte }

// wheelIndex is the bit of each residue.
var wheelIndex = [30]byte{1: 0, 7: 1, 11: 2, 13: 3, 17: 4, 19: 5, 23: 6, 29: 7}

var wheelClasses = func() (classes [8]wheelClass) {
	for i, r := range wheelResidues {
		for k, w := range wheelResidues {
			classes[i].bytes[k] = byte(r * w / 30)
			classes[i].bits[k] = 1 << wheelIndex[r*w%30]
		}
	}
	return classes
}()

// residuesBelow counts the residues less than x.
func residuesBelow(x uint64) (n int) {
	for _, w := range wheelResidues {
		if w < x {
			n++
		}
	}
	return n
}

// countBits counts the bits set.
func countBits(s []byte) (n uint64) {
	for ; len(s) >= 8; s = s[8:] {
		n += uint64(bits.OnesCount64(binary.LittleEndian.Uint64(s)))
	}
	for _, b := range s {
		n += uint64(bits.OnesCount8(b))
	}
	return n
}

// crossTurns is crossWithin for the bytes of s without wheelSlack on either side, for p up to wheelSlack. A sieve
// spends most of its time here. Turns that are partly in the slack are crossed off as a whole: the bytes before the
// block were already crossed off, or are unused; those after it are filled again later. A slice for each of a turn's
// multiples, all of one length, avoids bounds checks, and the bits of wheelClasses are constants.
func crossTurns(s []byte, p, turn int) int {
	start, end, stride := uint(wheelSlack+turn), uint(len(s)-wheelSlack), uint(p)
	i := start
	q, class := p/30, &wheelClasses[wheelIndex[p%30]]
	at := func(k int) []byte { return s[int(wheelResidues[k])*q+int(class.bytes[k]):][:end] }
	s0, s1, s2, s3, s4, s5, s6, s7 := at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)
	switch wheelIndex[p%30] {
	case 0: // p = 30q + 1
		for ; i < end; i += stride {
			s0[i] &^= 1 << 0
			s1[i] &^= 1 << 1
			s2[i] &^= 1 << 2
			s3[i] &^= 1 << 3
			s4[i] &^= 1 << 4
			s5[i] &^= 1 << 5
			s6[i] &^= 1 << 6
			s7[i] &^= 1 << 7
		}
	case 1: // p = 30q + 7
		for ; i < end; i += stride {
			s0[i] &^= 1 << 1
			s1[i] &^= 1 << 5
			s2[i] &^= 1 << 4
			s3[i] &^= 1 << 0
			s4[i] &^= 1 << 7
			s5[i] &^= 1 << 3
			s6[i] &^= 1 << 2
			s7[i] &^= 1 << 6
		}
	case 2: // p = 30q + 11
		for ; i < end; i += stride {
			s0[i] &^= 1 << 2
			s1[i] &^= 1 << 4
			s2[i] &^= 1 << 0
			s3[i] &^= 1 << 6
			s4[i] &^= 1 << 1
			s5[i] &^= 1 << 7
			s6[i] &^= 1 << 3
			s7[i] &^= 1 << 5
		}
	case 3: // p = 30q + 13
		for ; i < end; i += stride {
			s0[i] &^= 1 << 3
			s1[i] &^= 1 << 0
			s2[i] &^= 1 << 6
			s3[i] &^= 1 << 5
			s4[i] &^= 1 << 2
			s5[i] &^= 1 << 1
			s6[i] &^= 1 << 7
			s7[i] &^= 1 << 4
		}
	case 4: // p = 30q + 17
		for ; i < end; i += stride {
			s0[i] &^= 1 << 4
			s1[i] &^= 1 << 7
			s2[i] &^= 1 << 1
			s3[i] &^= 1 << 2
			s4[i] &^= 1 << 5
			s5[i] &^= 1 << 6
			s6[i] &^= 1 << 0
			s7[i] &^= 1 << 3
		}
	case 5: // p = 30q + 19
		for ; i < end; i += stride {
			s0[i] &^= 1 << 5
			s1[i] &^= 1 << 3
			s2[i] &^= 1 << 7
			s3[i] &^= 1 << 1
			s4[i] &^= 1 << 6
			s5[i] &^= 1 << 0
			s6[i] &^= 1 << 4
			s7[i] &^= 1 << 2
		}
	case 6: // p = 30q + 23
		for ; i < end; i += stride {
			s0[i] &^= 1 << 6
			s1[i] &^= 1 << 2
			s2[i] &^= 1 << 3
			s3[i] &^= 1 << 7
			s4[i] &^= 1 << 0
			s5[i] &^= 1 << 4
			s6[i] &^= 1 << 5
			s7[i] &^= 1 << 1
		}
	case 7: // p = 30q + 29
		for ; i < end; i += stride {
			s0[i] &^= 1 << 7
			s1[i] &^= 1 << 6
			s2[i] &^= 1 << 5
			s3[i] &^= 1 << 4
			s4[i] &^= 1 << 3
			s5[i] &^= 1 << 2
			s6[i] &^= 1 << 1
			s7[i] &^= 1 << 0
		}
	}
	if i > end && i > start {
		i -= stride // the last turn is not finished
	}
	return int(i) - int(end)
}
