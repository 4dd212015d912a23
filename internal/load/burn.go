package load

import (
	"context"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"gorun/internal/child"
	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/placement"
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
	setting := placement.Setting{CPUs: cpuset.Of(o.CPU), Nice: &o.Nice}
	_, err := setting.ApplyAll(0) // until the process ends
	return err
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
