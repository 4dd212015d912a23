package load

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"gorun/internal/child"
	"gorun/internal/cpuset"
	"gorun/internal/linux"
)

// Burn is all that a burner's process does, until ctx ends or in does. It reads its options from in, and reports to out
// as child.Serve does. It pins every thread of the process.
func Burn(ctx context.Context, in io.Reader, out io.Writer) error {
	return child.Serve(in, out, prepare, func(o Options) (Report, error) {
		var stop atomic.Bool
		defer context.AfterFunc(ctx, func() { stop.Store(true) })()
		go func() {
			_, _ = io.Copy(io.Discard, in) // whichever way it ends, nobody is there any more
			stop.Store(true)
		}()
		return o.duty(kernel{}, func() bool {
			runtime.Gosched() // the goroutines that wait for the end have this moment of each period
			return stop.Load()
		}), nil
	})
}

func prepare(o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	if _, err := linux.ProcessCPUTime(0); err != nil {
		return err
	}
	return settle(cpuset.Of(o.CPU), o.Nice)
}

// settle gives every thread of this process its place and its nice value, and reads both back. A thread that another
// one begins meanwhile has inherited from it, so a round that finds nothing to do is the last.
func settle(cpus cpuset.Set, nice int) error {
	for {
		tids, err := linux.Tasks()
		if err != nil {
			return err
		}
		settled := true
		for _, tid := range tids {
			is, err := placed(tid, cpus, nice)
			if err != nil {
				return err
			}
			if is {
				continue
			}
			settled = false
			if err := place(tid, cpus, nice); err != nil {
				return err
			}
		}
		if settled {
			return nil
		}
	}
}

func place(tid int, cpus cpuset.Set, nice int) error {
	if err := linux.SetAffinity(tid, cpus); err != nil {
		return err
	}
	was, err := linux.GetNice(tid)
	if err == nil && was != nice {
		err = linux.SetNice(tid, nice)
	}
	if err != nil {
		return err
	}
	is, err := placed(tid, cpus, nice)
	if err == nil && !is {
		err = fmt.Errorf("the kernel did not keep thread %d on CPU %v with nice %d", tid, cpus, nice)
	}
	return err
}

func placed(tid int, cpus cpuset.Set, nice int) (bool, error) {
	pinned, err := linux.HasAffinity(tid, cpus)
	if err != nil {
		return false, err
	}
	is, err := linux.GetNice(tid)
	return pinned && is == nice, err
}

// kernel are the real clocks. The CPU time is that of all threads: the load is what the process takes from others, the
// Go runtime's own thread included.
type kernel struct{}

func (kernel) wall() time.Duration { return linux.Monotonic() }

func (kernel) used() time.Duration {
	used, _ := linux.ProcessCPUTime(0) // prepare has seen that there is such a clock
	return used
}

// sleep does without time.Sleep, which wakes threads of the runtime in every period, some of them for a millisecond
// of short naps.
func (kernel) sleep(until time.Duration) { _ = linux.SleepUntil(until) }

// burn takes about 10 µs: multiplications that each wait for the one before, of 4 cycles with the addition.
func (kernel) burn() {
	x := sink
	for range 8192 {
		x = x*6364136223846793005 + 1
	}
	sink = x
}

var sink uint64
