package run

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"gorun/internal/kernel/linux"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
)

// liveState holds the live state of a run, for progress and metrics: the sums over its samples, and its extent.
type liveState struct {
	mu      sync.Mutex
	columns column.List                         // of the experiment
	count   func(*result.State, *result.Sample) // of the experiment; nil: none
	now     func() time.Time
	work    result.State // of the samples, and of their processes if they are not this one
	cpus    int          // of the run
	extent  result.Extent
	begun   time.Time
	before  float64 // seconds of the run before a resume
	ended   float64 // seconds of the whole run; 0: it is in progress
	interim *result.Interim
}

// begin starts the clock.
func (t *liveState) begin(now func() time.Time) { t.now, t.begun = now, now() }

// plan sets the planned extent. before is the time that the run took before a resume, in seconds.
func (t *liveState) plan(extent result.Extent, before float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.extent, t.begun, t.before = extent, t.now(), before
}

// end marks that no sample follows.
func (t *liveState) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = t.elapsed()
}

func (t *liveState) elapsed() float64 { return t.before + t.now().Sub(t.begun).Seconds() }

// setInterim sets the interim of the cells.
func (t *liveState) setInterim(interim result.Interim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.interim = &interim
}

// add counts a sample.
func (t *liveState) add(s result.Sample) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.work
	l.Totals.Add(s, t.migrations(&s))
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
		at, found := slices.BinarySearchFunc(l.CPUs, cpu.CPU, func(c result.CPUState, id int) int { return cmp.Compare(c.CPU, id) })
		if !found {
			l.CPUs = slices.Insert(l.CPUs, at, result.CPUState{CPU: cpu.CPU})
		}
		l.CPUs[at].Workers += uint64(cpu.Workers)
		l.CPUs[at].BusySeconds += cpu.BusySeconds
	}
}

// migrations returns the migrations of a sample by the relation of the two CPUs; nil if they were not recorded individually.
func (t *liveState) migrations(s *result.Sample) map[string]uint64 {
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
func (t *liveState) childWork() result.State {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.work
	l.CPUs = slices.Clone(l.CPUs)
	return l
}

// combined combines the run's state with the live figures of work. It calls work after it has read the samples, so that
// the figures include all samples.
func (t *liveState) combined(work func() result.State) result.State {
	t.mu.Lock()
	stands := result.State{
		Totals: t.work.Totals.Clone(), RunCPUs: t.cpus, Extent: t.extent, Elapsed: t.ended, Finished: t.ended > 0,
		Interim: t.interim,
	}
	if !stands.Finished {
		stands.Elapsed = t.elapsed()
	}
	t.mu.Unlock()

	l := work()
	l.Totals, l.RunCPUs, l.Extent, l.Interim = stands.Totals, stands.RunCPUs, stands.Extent, stands.Interim
	l.Elapsed, l.Finished = stands.Elapsed, stands.Finished
	switch {
	case l.Finished:
		l.Left = new(float64)
	case l.Interim == nil:
		l.Left = l.Extent.Left(l.Totals.Samples, l.Elapsed)
	case l.Interim.Left >= 0:
		l.Left = &l.Interim.Left
	}
	return l
}

// ownSwitches adds the context switches of this process, as the kernel counts them.
func ownSwitches(live func() result.State) func() result.State {
	return func() result.State {
		l := live()
		if usage, err := linux.ProcessUsage(); err == nil {
			l.VoluntarySwitches, l.InvoluntarySwitches = usage.VoluntarySwitches, usage.InvoluntarySwitches
		}
		return l
	}
}
