package launch

import (
	"time"

	"gorun/internal/linux"
)

// The supervisor looks for stopped processes this often, and the less the longer it takes: 0.5% of a CPU at most.
const (
	lookEvery = 100 * time.Millisecond
	lookShare = 200
)

// watchStops looks again and again whether a signal has stopped a process of the command, which need not be a child of
// this process, until the function that it returns is called: that returns the seconds, or nil if it cannot be known.
// They are right to the time between two looks, and a stop that is shorter may not be seen.
func watchStops() (finish func() *float64) {
	over, seconds := make(chan struct{}), make(chan *float64)
	go func() {
		total, known := time.Duration(0), true
		last, was := time.Now(), false
		timer := time.NewTimer(lookEvery)
		defer timer.Stop()
		for {
			ended := false
			select {
			case <-over:
				ended = true
			case <-timer.C:
			}
			now := time.Now()
			before, _ := linux.ProcessCPUTime(0)
			is := false
			if !ended { // else none is left
				var err error
				is, err = linux.HasStoppedDescendant()
				known = known && err == nil
			}
			// Of the time between two looks with different answers, half.
			if is {
				total += now.Sub(last) / 2
			}
			if was {
				total += now.Sub(last) / 2
			}
			last, was = now, is
			if ended {
				break
			}
			after, _ := linux.ProcessCPUTime(0) // the supervisor does nothing else
			timer.Reset(max(lookEvery, lookShare*(after-before)))
		}
		if !known {
			seconds <- nil
			return
		}
		sum := total.Seconds()
		seconds <- &sum
	}()
	return func() *float64 {
		close(over)
		return <-seconds
	}
}
