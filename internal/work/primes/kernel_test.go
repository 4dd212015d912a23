package primes

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/dev/tests"
)

// kernelTest is one kernel that this CPU supports.
type kernelTest struct {
	method Method
	kernel Kernel
}

func (k kernelTest) String() string { return k.method.Name + "/" + k.kernel.Name }

func allKernels() (all []kernelTest) {
	for _, m := range Methods {
		for _, k := range m.available() {
			all = append(all, kernelTest{m, k})
		}
	}
	return all
}

// eachKernel runs a test for each method and kernel that this CPU supports.
func eachKernel(t *testing.T, test func(t *testing.T, k kernelTest)) {
	for _, k := range allKernels() {
		t.Run(k.String(), func(t *testing.T) { test(t, k) })
	}
}

// oracleLimit is the last number that oracle knows.
const oracleLimit = 7919

// divisors[n] is the number of divisors of n, found without division.
var divisors = sync.OnceValue(func() []uint8 {
	d := make([]uint8, oracleLimit+1)
	for i := 1; i <= oracleLimit; i++ {
		for m := i; m <= oracleLimit; m += i {
			d[m]++
		}
	}
	return d
})

// oracle returns the Tally that a method must return for a range.
func oracle(method string, r Range) (t Tally) {
	for k := range r.Count {
		n := r.First + k*r.Step
		t.Numbers++
		if divisors()[n] == 2 {
			t.Primes++
		}
		switch method {
		case "brute", "modulo":
			t.Trials += n
		case "trial":
			t.Trials += oracleTrials(n)
		}
	}
	return t
}

// oracleTrials returns the number of divisors that the trial method tries, up to the first that divides.
func oracleTrials(n uint64) (trials uint64) {
	for d := uint64(2); d*d <= n; d++ {
		if d > 2 && d%2 == 0 {
			continue
		}
		trials++
		if n%d == 0 {
			break
		}
	}
	return trials
}

func TestCountUpTo(t *testing.T) {
	eachKernel(t, func(t *testing.T, k kernelTest) {
		for _, limit := range []uint64{0, 1, 2, 3, 4, 10, 100, 1000, oracleLimit} {
			checkRange(t, k, Range{First: 1, Step: 1, Count: limit})
			checkRange(t, k, Range{First: 0, Step: 1, Count: limit + 1})
		}
	})
}

// checkRange compares one kernel with the oracle on one range.
func checkRange(t require.TestingT, k kernelTest, r Range) {
	var stop atomic.Bool
	last := r.First
	if r.Count > 0 {
		last += (r.Count - 1) * r.Step
	}
	require.Equal(t, oracle(k.method.Name, r), k.kernel.New(last).Count(r, &stop), "%v %+v", k, r)
}

func TestCountOfRandomRanges(t *testing.T) {
	eachKernel(t, func(t *testing.T, k kernelTest) {
		rapid.Check(t, func(t *rapid.T) {
			r := Range{
				First: rapid.Uint64Range(0, 5000).Draw(t, "first"),
				Step:  rapid.Uint64Range(1, 300).Draw(t, "step"),
			}
			r.Count = rapid.Uint64Range(0, min(200, (5000-r.First)/r.Step+1)).Draw(t, "count")
			checkRange(t, k, r)
		})
	})
}

// Numbers at the end of the range: composite ones, whose least divisors are found at once.
func TestCountUpToMaxLimit(t *testing.T) {
	var stop atomic.Bool
	for _, r := range []Range{
		{MaxLimit, 1, 1},        // 7²·73·127·337·92737·649657
		{MaxLimit - 3, 2, 2},    // even
		{1, MaxLimit - 1, 2},    // 1 and MaxLimit
		{2, MaxLimit / 2, 2},    // prime, and odd: 3·…
		{1 << 62, 1<<62 - 4, 2}, // even
	} {
		want := Tally{Numbers: r.Count}
		for i := range r.Count {
			if new(big.Int).SetUint64(r.First + i*r.Step).ProbablyPrime(0) { // exact below 2^64
				want.Primes++
			}
		}
		got := trialGo.New(MaxLimit).Count(r, &stop)
		got.Trials = 0
		assert.Equal(t, want, got, "%+v", r)
	}
}

func TestStopBeforeTheFirstNumber(t *testing.T) {
	var stop atomic.Bool
	stop.Store(true)
	eachKernel(t, func(t *testing.T, k kernelTest) {
		for _, r := range []Range{{0, 1, 5}, {1000, 1, 5}, {1000, 10, 500}, {1000, 1, 10_000}} {
			assert.Zero(t, k.kernel.New(11_000).Count(r, &stop), "%+v", r)
		}
	})
}

// After a stop the counts must be right for the finished numbers: the first Numbers of the range.
func TestStopAmidTheWork(t *testing.T) {
	eachKernel(t, func(t *testing.T, k kernelTest) {
		var stop, never atomic.Bool
		counter := k.kernel.New(1 << 22)
		go func() {
			tests.Pause(2 * time.Millisecond)
			stop.Store(true)
		}()
		got := counter.Count(Range{First: 1, Step: 1, Count: 1 << 40}, &stop)
		require.Less(t, got.Numbers, uint64(1<<40))
		assert.Equal(t, counter.Count(Range{First: 1, Step: 1, Count: got.Numbers}, &never), got)
	})
}

// These numbers are primes, or have very large divisors only: each takes from a part of a second to years.
func TestStopAmidOneNumber(t *testing.T) {
	const prime = 1<<63 - 25
	for _, k := range allKernels() {
		for _, r := range []Range{{prime, 1, 1}, {1 << 31, 1 << 20, 2}, {prime - 10_000, 1, 10_001}} {
			if r.First == 1<<31 && !(k.method.Name == "brute" || k.method.Name == "modulo") {
				continue
			}
			t.Run(fmt.Sprintf("%v from %d", k, r.First), func(t *testing.T) {
				counter := k.kernel.New(r.First + (r.Count-1)*r.Step)
				tests.Await(t, "stop within the work", func() bool { // on a busy machine the stop may come too late
					var stop atomic.Bool
					go func() {
						tests.Pause(2 * time.Millisecond)
						stop.Store(true)
					}()
					return counter.Count(r, &stop).Numbers < r.Count
				})
			})
		}
	}
}

// bruteKernels returns the brute method's kernels that this CPU supports.
func bruteKernels() map[string]bruteKernel {
	kernels := map[string]bruteKernel{}
	for _, k := range Methods[0].available() {
		kernels[k.Name] = k.New(0).(*brute).bruteKernel
	}
	return kernels
}

// A tile must count each divisor of each row, also where the lanes' 32 bits are tightest: at the largest numbers and
// divisors, with rows that i divides, and rows next to those.
func TestBruteTiles(t *testing.T) {
	for name, k := range bruteKernels() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for range 3000 {
				rows := 1 + rng.IntN(bruteRows)
				width := 1 + rng.Uint64N(200)
				lo := 1 + rng.Uint64N(1<<rng.IntN(27)) // any magnitude
				if rng.IntN(4) == 0 {
					lo = k.last - width + 1
				}
				lo = min(lo, k.last-width+1)
				step := 1 + rng.Uint64N(1<<rng.IntN(27))
				if rng.IntN(2) == 0 {
					step = 1
				}
				span := uint64(rows-1) * step
				// The first row is near a multiple of some divisor, or of none, anywhere below the bound.
				i := lo + rng.Uint64N(width)
				first := (1+rng.Uint64N((bruteNarrow-1)/i))*i + rng.Uint64N(3) - 1
				if first+span >= bruteNarrow || rng.IntN(8) == 0 {
					first = bruteNarrow - 1 - span
				}
				checkTile(t, k, lo, width, first, step, rows)
			}
		})
	}
}

func checkTile(t *testing.T, k bruteKernel, lo, width, first, step uint64, rows int) {
	t.Helper()
	reciprocals := make([]uint64, width)
	fillReciprocals(reciprocals, lo)
	got, want := make([]uint32, rows), make([]uint32, rows)
	k.tile(reciprocals, first, step, got)
	for row := range want {
		for i := lo; i < lo+width; i++ {
			if (first+uint64(row)*step)%i == 0 {
				want[row]++
			}
		}
	}
	require.Equal(t, want, got, "divisors %d+%d, rows %d+k·%d", lo, width, first, step)
}

// The result of a sweep must not depend on the source of its divisors: from the table, beyond it, beyond the kernel's
// range, or by division.
func TestBruteSweeps(t *testing.T) {
	for name, k := range bruteKernels() {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct{ lo, first, step uint64 }{
				{1, 720720, 1},
				{1000 - 5, 720720, 1}, // across the table's end
				{1001, 720720, 1},
				{k.last - 100, 3 * k.last, 1}, // across the kernel's end
				{1<<29 - 400, 3 * (1<<29 - 300), 1},
				{1 << 31, 1<<31 + 7, 5},
				{1, bruteNarrow, 1},
				{bruteNarrow - 2, MaxLimit - 1, 1},
			} {
				var stop atomic.Bool
				table := make([]uint64, 1000)
				fillReciprocals(table, 1)
				w := bruteWalk{brute: &brute{k, table}, stop: &stop}
				hits := make([]uint32, bruteRows)
				if c.first >= bruteNarrow {
					hits = hits[:1]
				}
				var got, want [bruteRows]uint32
				for lo, hi := c.lo, c.lo+300; lo <= hi; {
					clear(hits)
					lo += w.sweep(lo, hi, c.first, c.step, hits)
					for row := range hits {
						got[row] += hits[row]
					}
				}
				for row := range hits {
					for i := c.lo; i <= c.lo+300; i++ {
						if (c.first+uint64(row)*c.step)%i == 0 {
							want[row]++
						}
					}
				}
				assert.Equal(t, want, got, "%+v", c)
			}
		})
	}
}

func TestBruteTileRows(t *testing.T) {
	for _, c := range []struct {
		r    Range
		want uint64
	}{
		{Range{1, 1, 3}, 3},
		{Range{1, 1, 1000}, bruteRows},
		{Range{bruteNarrow - bruteRows, 1, 1000}, bruteRows},
		{Range{bruteNarrow - bruteRows + 1, 1, 1000}, 1},
		{Range{1, bruteNarrow - 2, 2}, 2},
		{Range{1, bruteNarrow - 1, 2}, 1},
		{Range{MaxLimit - 1, 1, 2}, 1},
	} {
		assert.Equal(t, c.want, tileRows(c.r), "%+v", c.r)
	}
}
