package run

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"gorun/internal/column"
	"gorun/internal/linux"
	"gorun/internal/result"
)

// tally holds the live state of a run, for progress and metrics: the sums over its samples, and its course.
type tally struct {
	mu       sync.Mutex
	columns  column.List                        // of the experiment
	count    func(*result.Live, *result.Sample) // of the experiment; nil: none
	now      func() time.Time
	work     result.Live // of the samples, and of their processes if they are not this one
	cpus     int         // of the run
	course   result.Course
	begun    time.Time
	before   float64 // seconds of the run before a resume
	ended    float64 // seconds of the whole run; 0: it is in progress
	standing *result.Standing
}

// begin starts the clock.
func (t *tally) begin(now func() time.Time) { t.now, t.begun = now, now() }

// plan sets the planned course. before is the time that the run took before a resume, in seconds.
func (t *tally) plan(course result.Course, before float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.course, t.begun, t.before = course, t.now(), before
}

// end marks that no sample follows.
func (t *tally) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = t.elapsed()
}

func (t *tally) elapsed() float64 { return t.before + t.now().Sub(t.begun).Seconds() }

// setStanding sets the standing of the cells.
func (t *tally) setStanding(standing result.Standing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.standing = &standing
}

// add counts a sample.
func (t *tally) add(s result.Sample) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.work
	l.Taken.Add(s, t.migrations(&s))
	if t.count != nil {
		t.count(l, &s)
	}
	if s.Workers != nil {
		l.WorkersStarted += uint64(s.Workers.Count)
		l.WorkersFinished += uint64(s.Workers.Finished)
	}
	if n := s.Quality.Signals.VoluntarySwitches; n != nil {
		l.VoluntarySwitches += *n
	}
	if n := s.Quality.Signals.InvoluntarySwitches; n != nil {
		l.InvoluntarySwitches += *n
	}
	for _, cpu := range s.CPUs {
		at, found := slices.BinarySearchFunc(l.CPUs, cpu.CPU, func(c result.LiveCPU, id int) int { return cmp.Compare(c.CPU, id) })
		if !found {
			l.CPUs = slices.Insert(l.CPUs, at, result.LiveCPU{CPU: cpu.CPU})
		}
		l.CPUs[at].Workers += uint64(cpu.Workers)
		l.CPUs[at].BusySeconds += cpu.BusySeconds
	}
}

// migrations returns the migrations of a sample by the relation of the two CPUs; nil if they were not recorded individually.
func (t *tally) migrations(s *result.Sample) map[string]uint64 {
	by := map[string]uint64{}
	for _, relation := range [...]string{"total", "same-core", "same-llc", "same-node", "cross-node"} {
		c, found := t.columns.Find("migrations_" + strings.ReplaceAll(relation, "-", "_"))
		if !found {
			return nil
		}
		figure, known := c.Number(s)
		if !known {
			return nil
		}
		by[relation] = uint64(figure)
	}
	by[result.UnknownRelation] = by["total"] - by["same-core"] - by["same-llc"] - by["same-node"] - by["cross-node"]
	delete(by, "total")
	return by
}

// childWork returns the work of the samples' processes.
func (t *tally) childWork() result.Live {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.work
	l.CPUs = slices.Clone(l.CPUs)
	return l
}

// combined combines the run's state with the live figures of work. It calls work after it has read the samples, so that
// the figures include all samples.
func (t *tally) combined(work func() result.Live) result.Live {
	t.mu.Lock()
	stands := result.Live{
		Taken: t.work.Taken.Clone(), RunCPUs: t.cpus, Course: t.course, Elapsed: t.ended, Finished: t.ended > 0,
		Standing: t.standing,
	}
	if !stands.Finished {
		stands.Elapsed = t.elapsed()
	}
	t.mu.Unlock()

	l := work()
	l.Taken, l.RunCPUs, l.Course, l.Standing = stands.Taken, stands.RunCPUs, stands.Course, stands.Standing
	l.Elapsed, l.Finished = stands.Elapsed, stands.Finished
	switch {
	case l.Finished:
		l.Left = new(float64)
	case l.Standing == nil:
		l.Left = l.Course.Left(l.Taken.Samples, l.Elapsed)
	case l.Standing.Left >= 0:
		l.Left = &l.Standing.Left
	}
	return l
}

// ownSwitches adds the context switches of this process, as the kernel counts them.
func ownSwitches(live func() result.Live) func() result.Live {
	return func() result.Live {
		l := live()
		if usage, err := linux.ProcessUsage(); err == nil {
			l.VoluntarySwitches, l.InvoluntarySwitches = usage.VoluntarySwitches, usage.InvoluntarySwitches
		}
		return l
	}
}
