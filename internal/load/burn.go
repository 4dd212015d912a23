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

// Burn is the main function of a burner's process. It reads its options from in, pins every thread of the process,
// and burns until ctx or in ends. It answers to out as child.Serve does.
func Burn(ctx context.Context, in io.Reader, out io.Writer) error {
	return child.Serve(in, out, prepare, func(o Burner) (struct{}, error) {
		var stop atomic.Bool
		defer context.AfterFunc(ctx, func() { stop.Store(true) })()
		go func() {
			_, _ = io.Copy(io.Discard, in) // after EOF or an error, the parent has gone
			stop.Store(true)
		}()
		o.duty(kernel{}, func() bool {
			runtime.Gosched() // lets the goroutines that wait for the end run once per period
			return stop.Load()
		})
		return struct{}{}, nil
	})
}

func prepare(o Burner) error {
	if _, err := linux.ProcessCPUTime(0); err != nil {
		return err
	}
	setting := placement.Setting{CPUs: cpuset.Of(o.CPU), Nice: &o.Nice}
	_, err := setting.ApplyAll() // until the process ends
	return err
}

// kernel implements clocks with the kernel's clocks. The CPU time is that of all threads, including the Go runtime's
// own, since all of it is taken from other programs.
type kernel struct{}

func (kernel) wall() time.Duration { return linux.Monotonic() }

func (kernel) used() time.Duration {
	used, _ := linux.ProcessCPUTime(0) // prepare has checked that the clock exists
	return used
}

// sleep avoids time.Sleep, which wakes threads of the runtime in every period, some of which then poll for a
// millisecond.
func (kernel) sleep(until time.Duration) { _ = linux.SleepUntil(until) }

// burn takes about 10 µs: dependent multiplications and additions of 4 cycles each.
func (kernel) burn() {
	x := sink
	for range 8192 {
		x = x*6364136223846793005 + 1
	}
	sink = x
}

var sink uint64
