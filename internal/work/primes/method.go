// Package primes counts primes by methods of different cost: the work whose placement gorun measures. It holds the
// counting methods and their kernels, the ways to split the numbers among workers, and the worker pool.
package primes

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"gorun/internal/base/catalog"
)

// MaxLimit is the highest number that any method tests: the last one that int64 holds, which `modulo` computes with.
const MaxLimit = 1<<63 - 1

// Auto is the name for the best kernel that this CPU supports.
const Auto = "auto"

// Range is the arithmetic progression First, First+Step, …: Count numbers, none above MaxLimit. Step is at least 1.
type Range struct{ First, Step, Count uint64 }

// Tally is the result for a range.
type Tally struct {
	Numbers uint64 // fully tested
	Primes  uint64 // of them
	Trials  uint64 // divisibility tests
}

// Counter counts the primes of ranges. It is built once per run, with its tables, and is safe for concurrent use.
type Counter interface {
	// Count tests the range's numbers in ascending order until they are done or stop is set. It notices stop within
	// about a millisecond, even within one large number; an unfinished number is not in the Tally.
	Count(r Range, stop *atomic.Bool) Tally
	// Grain returns the number of consecutive numbers from n for one call of Count: about 50 µs of work, or more if a
	// shorter range would cost more per number. It is at least 1.
	Grain(n uint64) uint64
}

// Kernel is one implementation of a method.
type Kernel struct {
	Name      string
	Usage     string
	Requires  string                     // required CPU feature, for the error; empty: none
	Available func() bool                // nil: everywhere
	New       func(limit uint64) Counter // for ranges whose numbers are at most limit
}

// Method is one way to count primes.
type Method struct {
	Name    string
	Usage   string
	Kernels []Kernel // the fastest first; the last one runs everywhere
}

// Methods lists all methods, the default first. To add one, write its kernels in a new file and list it here: flags,
// help, completion, tests and benchmarks use this table.
var Methods = []Method{
	{"brute", "tests all of 1…n as divisors of n, by reciprocals instead of divisions", append(bruteSIMD, bruteGo)},
	{"modulo", "tests all of 1…n as divisors of n by n % i on 64-bit integers, as the original did", []Kernel{moduloGo}},
	{"trial", "tests 2 and the odd numbers up to √n, and stops at the first divisor", []Kernel{trialGo}},
}

// Entry implements catalog.Entry.
func (m Method) Entry() (name, usage string) { return m.Name, m.Usage }

// Entry implements catalog.Entry.
func (k Kernel) Entry() (name, usage string) { return k.Name, k.Usage }

// Lookup returns the kernel of a method with these names; Auto is the method's best kernel on this CPU. The error lists
// the existing names, and wraps errors.ErrUnsupported if the CPU does not support the kernel.
func Lookup(method, kernel string) (Kernel, error) {
	m, err := catalog.Find(Methods, "method", method)
	if err != nil {
		return Kernel{}, err
	}
	if kernel == Auto {
		return m.available()[0], nil
	}
	k, err := catalog.Find(m.Kernels, "kernel", kernel)
	switch {
	case err != nil:
		return Kernel{}, fmt.Errorf("unknown kernel %q: method %s has %s, %s",
			kernel, m.Name, Auto, catalog.List(m.Kernels))
	case !k.available():
		return Kernel{}, fmt.Errorf("kernel %s of method %s needs %s (usable here: %s): %w",
			k.Name, m.Name, k.Requires, catalog.List(m.available()), errors.ErrUnsupported)
	}
	return k, nil
}

// KernelWords lists a method's kernels for completion, Auto first; none for an unknown method.
func KernelWords(method string) []string {
	m, err := catalog.Find(Methods, "method", method)
	if err != nil {
		return nil
	}
	return catalog.Completions(append([]Kernel{{Name: Auto, Usage: "the fastest that this CPU has"}}, m.available()...))
}

func (k Kernel) available() bool { return k.Available == nil || k.Available() }

// available returns the method's kernels that this CPU supports, at least one.
func (m Method) available() []Kernel {
	var out []Kernel
	for _, k := range m.Kernels {
		if k.available() {
			out = append(out, k)
		}
	}
	return out
}

// grainTime is the target time of a Grain: short enough to check the clock, CPU and stop flag between two pieces often,
// and long enough to make these checks negligible.
const grainTime = 50 * time.Microsecond

// grain returns the number of numbers that fill grainTime at this many nanoseconds each, at least 1.
func grain(nanoseconds float64) uint64 {
	return uint64(max(1, float64(grainTime)/nanoseconds))
}
