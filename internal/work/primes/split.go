package primes

import (
	"sync/atomic"

	"gorun/internal/base/catalog"
)

// A Split deals the numbers 1…limit to the workers.
type Split struct {
	Name  string
	Usage string
	// Faulty marks a split that skips numbers on purpose, to show the effect on the times. It is never a default.
	Faulty bool
	// deal returns a dealer of fixed shares, or of a source that all workers share.
	deal func(limit uint64, workers int, grain func(uint64) uint64) dealer
}

// A dealer hands out the numbers of one pass.
type dealer interface {
	// next returns the next piece for worker i, of at most one grain, and false when there is none left. `at` is the
	// worker's position, zero before its first piece.
	next(i int, at *position) (Range, bool)
}

// position is a worker's progress within its share.
type position struct {
	share Range
	begun int32 // the number of shares that it has begun
}

// Splits lists the ways to divide the work, the default first.
var Splits = []Split{
	{Name: "contiguous", Usage: "one run of consecutive numbers per worker", deal: newContiguous},
	{Name: "interleaved", Usage: "worker i of W takes i, i+W, i+2W, …", deal: newInterleaved},
	{Name: "dynamic", Usage: "workers take the next piece, about 50 µs of work, until none is left", deal: newDynamic},
	{
		Name: "original", Usage: "FAULTY, as in the program that gorun grew from: it skips the last number of each run",
		Faulty: true, deal: newOriginal,
	},
}

// Entry implements catalog.Entry.
func (s Split) Entry() (name, usage string) { return s.Name, s.Usage }

// LookupSplit returns the split of that name.
func LookupSplit(name string) (Split, error) { return catalog.Find(Splits, "split", name) }

// numbers returns the count of the numbers 1…limit that the workers are dealt: all, except with a faulty split.
func (s Split) numbers(limit uint64, workers int) uint64 {
	if each := limit / uint64(workers); s.Faulty {
		return (max(1, each) - 1) * uint64(workers)
	}
	return limit
}

// head returns the first piece of a range that is not empty: at most the grain of its last number, since larger numbers
// cost more. With the grain of its first number, a piece that starts at 1 would hold everything.
func (r Range) head(grain func(uint64) uint64) Range {
	r.Count = min(r.Count, grain(r.First))
	r.Count = min(r.Count, grain(r.First+(r.Count-1)*r.Step))
	return r
}

// shares deals each worker one fixed share, once or several times.
type shares struct {
	of    func(i int) Range
	times int
	grain func(uint64) uint64
}

func (s shares) next(i int, at *position) (Range, bool) {
	if at.share.Count == 0 && int(at.begun) < s.times {
		at.share = s.of(i)
		at.begun++
	}
	if at.share.Count == 0 {
		return Range{}, false
	}
	piece := at.share.head(s.grain)
	at.share.First += piece.Count * piece.Step
	at.share.Count -= piece.Count
	return piece, true
}

func newContiguous(limit uint64, workers int, grain func(uint64) uint64) dealer {
	each, extra := limit/uint64(workers), limit%uint64(workers)
	return shares{times: 1, grain: grain, of: func(i int) Range {
		r := Range{First: 1 + uint64(i)*each + min(uint64(i), extra), Step: 1, Count: each}
		if uint64(i) < extra {
			r.Count++
		}
		return r
	}}
}

// newOriginal has two faults of the program that gorun grew from: each worker's last number is not tested, nor is the
// remainder if the workers do not divide the limit.
func newOriginal(limit uint64, workers int, grain func(uint64) uint64) dealer {
	each := limit / uint64(workers)
	return shares{times: 1, grain: grain, of: func(i int) Range {
		return Range{First: 1 + uint64(i)*each, Step: 1, Count: max(1, each) - 1}
	}}
}

func newInterleaved(limit uint64, workers int, grain func(uint64) uint64) dealer {
	return shares{times: 1, grain: grain, of: func(i int) Range {
		r := Range{First: 1 + uint64(i), Step: uint64(workers)}
		if uint64(i) < limit {
			r.Count = (limit-1-uint64(i))/uint64(workers) + 1
		}
		return r
	}}
}

// counterSource is the shared cursor of the dynamic split, alone on its cache lines: every worker writes it.
type counterSource struct {
	_     [128]byte
	taken atomic.Uint64 // numbers dealt so far
	_     [120]byte
	limit uint64
	grain func(uint64) uint64
}

func newDynamic(limit uint64, _ int, grain func(uint64) uint64) dealer {
	return &counterSource{limit: limit, grain: grain}
}

func (c *counterSource) next(int, *position) (Range, bool) {
	for {
		taken := c.taken.Load()
		if taken == c.limit {
			return Range{}, false
		}
		piece := Range{First: taken + 1, Step: 1, Count: c.limit - taken}.head(c.grain)
		if c.taken.CompareAndSwap(taken, taken+piece.Count) {
			return piece, true
		}
	}
}
