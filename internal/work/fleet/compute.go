package fleet

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/work/primes"
)

// computation is the work of gorun fleet's own kernel: it counts primes. Every CPU must find their number.
type computation struct {
	repeats  int
	together bool // all CPUs begin at the same time; otherwise one computes after the other
}

// The primes up to computeLimit (oeis.org/A000720). Counting them takes a few milliseconds, and the table for that stays in the CPU's
// own cache.
const (
	computeLimit  = 8000
	computePrimes = 1007
)

// computer counts primes on CPUs.
type computer struct {
	computation
	cpus    []int
	counter primes.Counter
	want    uint64
}

func newComputer(c computation, cpus cpuset.Set) (*computer, error) {
	kernel, err := primes.Lookup("brute", primes.Auto)
	if err != nil {
		return nil, err
	}
	return &computer{c, cpus.List(), kernel.New(computeLimit), computePrimes}, nil
}

// computed is what one CPU did.
type computed struct {
	seconds float64
	primes  uint64 // the first wrong count, or the right one
	read    result.Placement
	err     error
}

// take takes a sample of all CPUs, and returns the seconds of each. A CPU that counts wrongly has none.
func (c *computer) take(ctx context.Context) (s result.Sample, figures map[int]float64, err error) {
	done := make([]computed, len(c.cpus))
	var stop atomic.Bool
	defer measure.Until(ctx, func() { stop.Store(true) })()
	err = measure.Timed(&s, func() error {
		var all sync.WaitGroup
		var ready atomic.Int64
		for i, cpu := range c.cpus {
			all.Go(func() {
				done[i] = c.on(cpu, &stop, func() {
					// Each spins on its own CPU: those that slept would begin one after the other.
					for ready.Add(1); c.together && ready.Load() < int64(len(c.cpus)) && !stop.Load(); {
					}
				})
				if done[i].err != nil {
					stop.Store(true) // the others would wait for it
				}
			})
			if !c.together {
				all.Wait()
			}
		}
		all.Wait()
		return nil
	})
	for _, d := range done {
		err = cmp.Or(err, ctx.Err(), d.err)
		s.Placement.Add(d.read.Checked, d.read.Mismatches)
	}
	if err != nil {
		return s, nil, err
	}
	s.Placement.Requested = "a thread pinned to each CPU"
	figures = map[int]float64{}
	for i, d := range done {
		if d.primes == c.want {
			figures[i] = d.seconds
			continue
		}
		s.Doubts = append(s.Doubts, result.Doubt{
			Verdict: result.Suspect, Wrong: true, // the other CPUs' figures count
			Reason: fmt.Sprintf("CPU %d counted %d primes up to %d instead of %d", c.cpus[i], d.primes, computeLimit, c.want),
		})
	}
	return s, figures, nil
}

// on counts on one CPU, when begin has returned. The calling goroutine's thread ends with it.
func (c *computer) on(cpu int, stop *atomic.Bool, begin func()) (d computed) {
	runtime.LockOSThread() // never unlocked: the thread ends with its mask
	setting := placement.Setting{CPUs: cpuset.Of(cpu)}
	checked, mismatches, err := setting.Give()
	d.read.Add(checked, mismatches)
	if d.err = err; err != nil {
		return d
	}
	begin()
	begun := time.Now()
	for range c.repeats {
		if d.primes = c.counter.Count(primes.Range{First: 1, Step: 1, Count: computeLimit}, stop).Primes; d.primes != c.want {
			break
		}
	}
	d.seconds = time.Since(begun).Seconds()
	is := linux.Getcpu()
	d.read.Check(is == cpu, "the thread of CPU %d ended on CPU %d", cpu, is)
	differences, err := setting.ReadBack(0)
	for _, m := range differences {
		d.read.Check(false, "%v", m)
	}
	d.err = err
	return d
}
