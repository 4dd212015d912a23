package measure

import (
	"maps"
	"os"
	"os/signal"
	"syscall"
	"time"

	"gorun/internal/kernel/linux"
)

// beat is the interval at which this process reads the clock, to know for how long it was stopped. A stop shorter than
// two beats may not be detected. Each reading takes a few microseconds.
const beat = 50 * time.Millisecond

// lag is the longest delay of a SIGCONT after the process continues, on a busy machine.
const lag = 4 * beat

// Stops measures for how long a signal (SIGSTOP, SIGTSTP; signal(7)) has stopped this process and the processes that it
// has started. The kernel reports the stops of children (SIGCHLD). A process learns of its own stop when it continues,
// by a SIGCONT: the stop began after the last reading of the clock.
type Stops struct {
	own, children time.Duration

	stop    func()       // ends the measurement; nil: not begun
	stopped map[int]bool // children that are stopped
	since   time.Time    // when the first of them was stopped
	last    time.Time    // last reading of the clock
	late    time.Duration
	lateAt  time.Time // last reading that was too late, by the duration late
}

// Begin begins to measure. Stops of children that began before count from now on.
func (s *Stops) Begin() {
	s.End()
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGCONT, syscall.SIGCHLD)
	s.begin(time.Now(), linux.NextChildStop)
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				s.look(time.Now(), false, linux.NextChildStop)
			case sig := <-signals:
				s.look(time.Now(), sig == syscall.SIGCONT, linux.NextChildStop)
			case <-over:
				s.end(signals)
				return
			}
		}
	}()
	s.stop = func() {
		close(over)
		<-done
		signal.Stop(signals)
	}
}

// End ends the measurement, if it has begun, and returns the seconds.
func (s *Stops) End() (own, children float64) {
	if s.stop == nil {
		return 0, 0
	}
	s.stop()
	s.stop = nil
	return s.own.Seconds(), s.children.Seconds()
}

// nextStop returns what linux.NextChildStop does.
type nextStop func() (pid int, stopped, ok bool)

func (s *Stops) begin(now time.Time, next nextStop) {
	if s.stopped == nil {
		s.stopped = map[int]bool{}
	}
	maps.DeleteFunc(s.stopped, func(pid int, _ bool) bool { return syscall.Kill(pid, 0) != nil }) // it has ended
	s.last = now
	s.look(now, false, next)
	s.own, s.children, s.late, s.since = 0, 0, 0, now
}

// look reads the clock and the states of the children. continued means that the reason is a SIGCONT, which may come
// just after a reading of the clock.
func (s *Stops) look(now time.Time, continued bool, next nextStop) {
	if gap := now.Sub(s.last); gap > 2*beat {
		s.late, s.lateAt = gap-beat/2, now
	}
	if continued && s.late > 0 && now.Sub(s.lateAt) <= lag {
		s.own += s.late
		s.late = 0
	}
	for {
		pid, stopped, ok := next()
		if !ok {
			break
		}
		s.child(pid, stopped, now)
	}
	s.last = now
}

// child adds the time for which at least one child was stopped.
func (s *Stops) child(pid int, stopped bool, now time.Time) {
	switch {
	case stopped && len(s.stopped) == 0:
		s.since = now
		s.stopped[pid] = true
	case stopped:
		s.stopped[pid] = true
	case len(s.stopped) == 0: // it was stopped after the last reading
		s.children += now.Sub(s.last)
	default:
		if delete(s.stopped, pid); len(s.stopped) == 0 {
			s.children += now.Sub(s.since)
		}
	}
}

// end reads the clock for the last time. If the reading is late, a SIGCONT may be about to be delivered.
func (s *Stops) end(signals <-chan os.Signal) {
	s.look(time.Now(), false, linux.NextChildStop)
	patience := time.NewTimer(min(s.late, lag))
	defer patience.Stop()
	for s.late > 0 && time.Since(s.lateAt) <= lag {
		select {
		case sig := <-signals:
			s.look(time.Now(), sig == syscall.SIGCONT, linux.NextChildStop)
		case <-patience.C:
			s.late = 0
		}
	}
	if len(s.stopped) > 0 {
		s.children += time.Since(s.since)
	}
}
