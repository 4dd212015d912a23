package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"gorun/internal/kernel/cgroup"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
)

// The supervisor looks at the command's processes every lookEvery. If the request says so, it also looks at each of their threads: then it
// looks more often at first, since most of what a thread did is only known while it lives. The first look is after firstLook, and each
// further one when the command has lived a tenth longer. Looks take at most this share of a CPU; twice that if there are several threads, which
// have more than a CPU, and of which more is unknown.
const (
	lookEvery    = 100 * time.Millisecond
	firstLook    = time.Millisecond
	stopsShare   = 200 // 1/200
	threadsShare = 100
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

// looks is what the looks at a command's processes have found so far.
type looks struct {
	begun  time.Time
	stops  stopTime
	failed bool // in some look
	firsts []int
	others *others // nil: not looked at
	quotas quotas
	pages  pages
}

// others adds up the turns of threads, each up to the last look at it.
type others struct {
	last  map[int]thread      // by TID
	ended map[int]linux.Turns // of threads whose TID another one has now, by the PID of the process from which they came
}

// thread is what a thread did.
type thread struct {
	from int // PID of the process from which it comes
	linux.Turns
}

func newOthers() *others { return &others{last: map[int]thread{}, ended: map[int]linux.Turns{}} }

// saw notes the turns of a thread, which only grow. One whose parents have ended keeps the process from which it came.
func (o *others) saw(from, tid int, now linux.Turns) {
	last, known := o.last[tid]
	switch {
	case !known:
	case now.Count < last.Count || now.OnCPU < last.OnCPU:
		o.ended[last.from] = o.ended[last.from].Add(last.Turns)
	default:
		from = last.from
	}
	o.last[tid] = thread{from, now}
}

// sum returns the turns of all threads, and those of each process by the PID of the process from which they come.
func (o *others) sum() (all linux.Turns, by map[int]linux.Turns) {
	by = maps.Clone(o.ended)
	for _, last := range o.last {
		by[last.from] = by[last.from].Add(last.Turns)
	}
	for _, of := range by {
		all = all.Add(of)
	}
	return all, by
}

// quotas adds up for how long the quotas of control groups that processes have entered by themselves stopped them.
type quotas struct {
	known  [][]byte        // what the files /proc/PID/cgroup say, first that of this process; none: it cannot be read
	groups []cgroup.Groups // those of known, if there are several; no group is in two of them
	before []float64       // seconds, at the first look
	now    []float64       // at the last one
	failed bool
}

// saw looks at the groups of a process.
func (q *quotas) saw(pid int) {
	text, err := linux.ReadProc(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || slices.ContainsFunc(q.known, func(known []byte) bool { return bytes.Equal(known, text) }) {
		return
	}
	if len(q.known) == 1 {
		q.groups, q.before, q.now = []cgroup.Groups{cgroup.FindGroups(os.DirFS("/"))}, []float64{0}, []float64{0}
	}
	if len(q.known) > 0 {
		of := cgroup.FindGroupsOf(os.DirFS("/"), pid)
		for _, known := range q.groups {
			of = of.Without(known)
		}
		seconds, err := of.ReadThrottling()
		if errors.Is(err, fs.ErrNotExist) {
			return // the process has ended, or its group has
		}
		q.failed = q.failed || err != nil
		q.groups, q.before, q.now = append(q.groups, of), append(q.before, seconds), append(q.now, seconds)
	}
	q.known = append(q.known, text)
}

// read reads the times of groups that still exist.
func (q *quotas) read() {
	for i := 1; i < len(q.groups); i++ {
		if seconds, err := q.groups[i].ReadThrottling(); err == nil {
			q.now[i] = seconds
		}
	}
}

// stopped returns the seconds of groups that are not this process's own; nil: they are not known.
func (q *quotas) stopped() *float64 {
	if q.failed || len(q.known) == 0 {
		return nil
	}
	sum := 0.0
	for i := 1; i < len(q.groups); i++ {
		sum += q.now[i] - q.before[i]
	}
	return &sum
}

// look looks at the processes of the members, and returns them; every lookEvery also at those whose parents have ended, and at whether one is
// stopped.
func (l *looks) look(now time.Time) (all []looked) {
	pids, whole, stopped := l.firsts, now.Sub(l.stops.last) >= lookEvery, false
	if whole {
		var err error
		pids, err = linux.Children()
		l.failed = l.failed || err != nil
	}
	for _, from := range pids {
		linux.EachProcess(from, func(pid int, tids []int) {
			stopped = stopped || whole && linux.Stopped(pid)
			if l.others != nil {
				l.lookAt(from, pid, tids)
			}
			all = append(all, looked{pid, tids})
		})
	}
	l.quotas.read()
	if whole {
		l.stops.look(now, stopped)
	}
	return all
}

// lookAt looks at a process that comes from another one. Threads that have ended meanwhile keep what the last look has found.
func (l *looks) lookAt(from, pid int, tids []int) {
	l.quotas.saw(pid)
	for _, tid := range tids {
		if slices.Contains(l.firsts, tid) {
			continue
		}
		if turns, err := linux.ThreadTurns(tid); err == nil && turns.Count > 0 {
			l.others.saw(from, tid, turns)
		}
	}
}

// next returns the time until the next look, after one that took this much CPU time.
func (l *looks) next(now time.Time, took time.Duration) time.Duration {
	if l.others == nil {
		return max(lookEvery, stopsShare*took)
	}
	if len(l.others.last) > 0 {
		took /= 2
	}
	return max(min(max(firstLook, now.Sub(l.begun)/10), lookEvery), threadsShare*took)
}

// watch looks at the processes of a command, whose members have these PIDs, until the returned function is called. That notes
// what was found in the outcome. threads: it looks at each thread too. A time for which a process was stopped has an error of at most the
// interval between looks, and a shorter stop may not be detected.
func watch(firsts []int, threads bool) (finish func(*Outcome)) {
	l := looks{begun: time.Now(), firsts: firsts}
	l.stops.last = l.begun
	if threads {
		l.others = newOthers()
		l.quotas.saw(os.Getpid())
		l.pages.due = l.begun.Add(firstPages)
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(l.next(l.begun, 0))
		defer timer.Stop()
		for {
			select {
			case <-over: // no process is left
				l.stops.look(time.Now(), false)
				return
			case <-timer.C:
			}
			now := time.Now()
			before, _ := linux.ProcessCPUTime(0)
			all := l.look(now)
			after, _ := linux.ProcessCPUTime(0) // the supervisor does nothing else
			if threads && now.After(l.pages.due) {
				l.pages.look(all)
				paged, _ := linux.ProcessCPUTime(0)
				l.pages.due = now.Add(max(now.Sub(l.begun)/10, pagesShare*(paged-after)))
			}
			timer.Reset(l.next(now, after-before))
		}
	}()
	return func(o *Outcome) {
		close(over)
		<-ended
		if !l.failed {
			o.StoppedSeconds = new(l.stops.total.Seconds())
		}
		if l.others != nil && !l.failed {
			l.quotas.read()
			o.Looks = &result.Looks{ThrottledSeconds: l.quotas.stopped(), Memory: l.pages.last}
			sum, by := l.others.sum()
			o.Others = &sum
			for i, pid := range firsts {
				o.Members[i].Others = new(by[pid])
			}
		}
	}
}
