package load

import (
	"context"
	"errors"
	"io"
	"runtime"
	"time"

	"gorun/internal/kernel/linux"
	"gorun/internal/start/launch"
)

// Burn is the main function of a burner's process. It reads its options from in, and burns until the burners are stopped or ctx ends.
func Burn(ctx context.Context, in io.Reader, _ io.Writer) error {
	var o Burner
	shared, err := launch.Join(in, &o)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, shared.Stop)()
	if _, err := linux.ProcessCPUTime(0); err != nil {
		return err
	}
	shared.Wait()
	o.duty(kernel{}, func() bool {
		runtime.Gosched() // lets the goroutine that hears of a signal run once per period
		return shared.Stopped()
	})
	if ctx.Err() != nil {
		return errors.New("a signal ended it")
	}
	return nil
}

// kernel implements clocks with the kernel's clocks. The CPU time is that of all threads, including the Go runtime's
// own, since all of it is taken from other programs.
type kernel struct{}

func (kernel) wall() time.Duration { return linux.Monotonic() }

func (kernel) used() time.Duration {
	used, _ := linux.ProcessCPUTime(0) // Burn has checked that the clock exists
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
