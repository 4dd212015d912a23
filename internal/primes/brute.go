package primes

import (
	"math"
	"sync/atomic"
)

// bruteKernel is what tells one kernel of the brute method from another. A new one is a tile function in a file of
// its own, with a Kernel beside it that bruteSIMD or Methods lists; the tests compare it with plain division.
//
// A tile is a block of rows, the numbers first + k·step, against a run of divisors: the rows share each reciprocal that
// is loaded, and the multiplication n·c becomes the addition (n+step)·c = n·c + step·c. No pair is left out.
type bruteKernel struct {
	last        uint64  // divisors above it are left to tileGo
	nanoseconds float64 // a trial, for Grain; roughly
	// tile adds to hits[k] how many of the divisors with these reciprocals divide first + k·step, for 1 to bruteRows
	// rows. All numbers are below 2^32.
	tile func(reciprocals []uint64, first, step uint64, hits []uint32)
}

const (
	// bruteRows is how many rows a tile has, where there are as many: more would share the start of a tile among more
	// trials, and find a divisor in more tiles.
	bruteRows = 16
	// bruteTable is how many reciprocals are kept (32 MiB of them); those of larger divisors are computed for each
	// tile.
	bruteTable = 1 << 22
	// bruteChunk is how many trials pass before stop is looked at: 3 to 30 µs of a kernel, which matters where the Go
	// scheduler cannot interrupt assembly, and 0.5 ms of division.
	bruteChunk = 1 << 17
	// bruteScratch is how many reciprocals are computed at a time (32 KiB).
	bruteScratch = 1 << 12
	// bruteNarrow bounds the numbers that reciprocals of 64 bits test exactly.
	bruteNarrow = 1 << 32
)

// brute counts all divisors of each number; a prime has two.
//
// The test is that of Lemire, Kaser and Kurz, "Faster remainder by direct computation" (Software: Practice and
// Experience 49, 2019), section 3.2: for n and i below 2^32 and c = ⌈2^64/i⌉, i divides n if and only if
// n·c mod 2^64 < c.
type brute struct {
	bruteKernel
	table []uint64 // table[i-1] is the reciprocal of i
}

func newBrute(k bruteKernel) func(limit uint64) Counter {
	return func(limit uint64) Counter {
		table := make([]uint64, min(limit, bruteTable))
		fillReciprocals(table, 1)
		return &brute{k, table}
	}
}

// fillReciprocals sets c to ⌈2^64/i⌉ mod 2^64 for i = first, first+1, …; that of 1 is thus 0.
func fillReciprocals(c []uint64, first uint64) {
	for k := range c {
		c[k] = math.MaxUint64/(first+uint64(k)) + 1
	}
}

func (b *brute) Grain(n uint64) uint64 {
	if n >= bruteNarrow {
		return 1
	}
	return max(1, grain(float64(n)*b.nanoseconds)/bruteRows) * bruteRows
}

func (b *brute) Count(r Range, stop *atomic.Bool) Tally {
	w := bruteWalk{brute: b, stop: stop}
	for r.Count > 0 && !stop.Load() {
		rows := tileRows(r)
		w.block(r.First, r.Step, int(rows))
		r.First += rows * r.Step
		r.Count -= rows
	}
	return w.done
}

// tileRows is how many of the range's numbers the next tiles have. Where one is too large for reciprocals it is one at
// a time, since divisions gain nothing from a tile.
func tileRows(r Range) uint64 {
	rows := min(r.Count, bruteRows)
	if r.First+(rows-1)*r.Step >= bruteNarrow {
		return 1
	}
	return rows
}

// bruteWalk is one call of Count.
type bruteWalk struct {
	*brute
	stop    *atomic.Bool
	scratch []uint64 // reciprocals beyond the table
	done    Tally
}

// block tests the rows first + k·step. They have the divisors 1…first in common; those up to the next number belong to
// all rows but the first, and so on: row k is finished when the divisors up to its number are.
func (w *bruteWalk) block(first, step uint64, rows int) {
	var hits [bruteRows]uint32
	divisor := uint64(1)
	for k := range rows {
		n := first + uint64(k)*step
		for {
			if w.stop.Load() {
				return
			}
			if divisor > n {
				break
			}
			divisor += w.sweep(divisor, n, n, step, hits[k:rows])
		}
		w.done.Numbers++
		w.done.Trials += n
		if hits[k] == 2 {
			w.done.Primes++
		}
	}
}

// sweep tests the rows first + k·step against divisors from lo on, as many up to hi as one tile takes, and returns how
// many these were.
func (w *bruteWalk) sweep(lo, hi, first, step uint64, hits []uint32) uint64 {
	count := min(hi-lo+1, max(1, bruteChunk/uint64(len(hits))))
	switch stored := uint64(len(w.table)); {
	case first >= bruteNarrow:
		divideTile(lo, count, first, hits)
		return count
	case lo <= stored:
		count = min(count, stored-lo+1)
		w.narrow(w.table[lo-1:lo-1+count], lo, first, step, hits)
		return count
	default:
		if w.scratch == nil {
			w.scratch = make([]uint64, bruteScratch)
		}
		count = min(count, bruteScratch)
		fillReciprocals(w.scratch[:count], lo)
		w.narrow(w.scratch[:count], lo, first, step, hits)
		return count
	}
}

// narrow has the tile tested by the kernel, or in plain Go where the divisors are too large for the kernel.
func (w *bruteWalk) narrow(reciprocals []uint64, lo, first, step uint64, hits []uint32) {
	if lo+uint64(len(reciprocals))-1 > w.last {
		tileGo(reciprocals, first, step, hits)
		return
	}
	w.tile(reciprocals, first, step, hits)
}

// divideTile tests one number of any size, by division.
func divideTile(lo, count, n uint64, hits []uint32) {
	for i := lo; i < lo+count; i++ {
		if n%i == 0 {
			hits[0]++
		}
	}
}
