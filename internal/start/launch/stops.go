package launch

import (
	"time"

	"gorun/internal/kernel/linux"
)

// The interval at which the supervisor looks for stopped processes. It grows with the time that a look takes: at most
// 0.5% of a CPU.
const (
	lookEvery = 100 * time.Millisecond
	lookShare = 200
)

// stopTime adds up for how long a process was stopped.
type stopTime struct {
	total time.Duration
	last  time.Time // of the last look
	was   bool      // a process was stopped then
}

// look adds the time since the last look: half of it if the two looks differ.
func (s *stopTime) look(now time.Time, is bool) {
	for _, stopped := range []bool{s.was, is} {
		if stopped {
			s.total += now.Sub(s.last) / 2
		}
	}
	s.last, s.was = now, is
}

// watchStops polls whether a signal has stopped a process of the command, which may be any descendant, until the
// returned function is called. That returns the stopped time in seconds, or nil if it is not known. The error is at
// most the polling interval, and a shorter stop may not be detected.
func watchStops() (finish func() *float64) {
	over, seconds := make(chan struct{}), make(chan *float64)
	go func() {
		stopped, known := stopTime{last: time.Now()}, true
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
			if !ended { // otherwise no process is left
				var err error
				is, err = linux.HasStoppedDescendant()
				known = known && err == nil
			}
			stopped.look(now, is)
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
		sum := stopped.total.Seconds()
		seconds <- &sum
	}()
	return func() *float64 {
		close(over)
		return <-seconds
	}
}
