package primes

import (
	"math"
	"sync/atomic"
)

// bruteKernel describes a kernel of the brute method. To add one, write a tile function and a Kernel in a new file, and
// list the Kernel in bruteSIMD or Methods; the tests compare it with plain division.
//
// A tile is a block of rows, the numbers first + k·step, tested against a run of divisors: the rows share each loaded
// reciprocal, and the multiplication n·c becomes the addition (n+step)·c = n·c + step·c. Every pair is tested.
type bruteKernel struct {
	last        uint64  // divisors above it are left to tileGo
	nanoseconds float64 // per trial, for Grain; approximate
	// tile adds to hits[k] the number of divisors, given by their reciprocals, that divide first + k·step, for 1 to
	// bruteRows rows. All numbers are below 2^32.
	tile func(reciprocals []uint64, first, step uint64, hits []uint32)
}

const (
	// bruteRows is the greatest number of rows of a tile. More rows would spread the cost of starting a tile over more
	// trials, but more tiles would contain a divisor.
	bruteRows = 16
	// bruteTable is the number of stored reciprocals (32 MiB); those of larger divisors are computed for each tile.
	bruteTable = 1 << 22
	// bruteChunk is the number of trials between two checks of stop: 3 to 30 µs of a kernel, short since the Go
	// scheduler cannot interrupt assembly, or 0.5 ms of divisions.
	bruteChunk = 1 << 17
	// bruteScratch is the number of reciprocals computed at a time (32 KiB).
	bruteScratch = 1 << 12
	// bruteNarrow limits the numbers for which 64-bit reciprocals are exact.
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

// fillReciprocals sets c to ⌈2^64/i⌉ mod 2^64 for i = first, first+1, …; the reciprocal of 1 is thus 0.
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

// tileRows returns the number of rows of the range's next tiles. It is 1 if a number is too large for reciprocals,
// since divisions gain nothing from a tile.
func tileRows(r Range) uint64 {
	rows := min(r.Count, bruteRows)
	if r.First+(rows-1)*r.Step >= bruteNarrow {
		return 1
	}
	return rows
}

// bruteWalk is the state of one call of Count.
type bruteWalk struct {
	*brute
	stop    *atomic.Bool
	scratch []uint64 // reciprocals beyond the table
	done    Tally
}

// block tests the rows first + k·step. All rows are tested against the divisors 1…first, all rows except the first
// against those up to the next number, and so on: row k is finished after the divisors up to its number.
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

// sweep tests the rows first + k·step against divisors from lo to at most hi, as many as fit in one tile, and returns
// their number.
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

// narrow tests the tile by the kernel, or in plain Go if the divisors are too large for the kernel.
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
