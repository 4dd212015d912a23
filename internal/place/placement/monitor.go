package placement

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"gorun/csrc"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/machine/perf"
)

// Period is the time between two read-backs during a measurement.
const Period = 50 * time.Millisecond

// Thread is a thread of any process, and its expected setting. To watch a process, watch its main thread, whose TID is
// the PID. The memory policy is not watched, since only a thread itself can read it.
type Thread struct {
	Name string // its name in a mismatch; "": the only one of its process
	TID  int
	Setting
	Free bool // its process may change its own setting, which is not a mismatch
}

// Monitor reads back the settings of threads at its start, every Period, and at its end. If a thread has one CPU and
// the kernel counts migrations, it must not have migrated in that time.
type Monitor struct {
	threads    []*watchedThread
	online     *onlineCPUs // nil: not watched
	shared     bool        // it also looks every Period
	changed    func()      // called at the first mismatch, from any goroutine; may be nil
	checked    int
	mismatches []string
	own        []Mismatch // changes that Free processes may have made themselves
}

// watchedThread is a thread of a Monitor.
type watchedThread struct {
	Thread
	of         *Monitor
	state      csrc.Watched
	migrations *uint64 // at the start; nil: it has several CPUs, or migrations cannot be counted
	idle       bool    // its process used no CPU time when it changed
	over       bool    // it ended, or a mismatch was found
}

// Watch starts to watch threads.
func Watch(threads ...Thread) *Monitor { return watch(&Monitor{shared: true}, threads) }

// Compare reads threads back only at the start and at the end: it is for a process that another one watches.
func Compare(threads ...Thread) *Monitor { return watch(&Monitor{}, threads) }

func watch(m *Monitor, threads []Thread) *Monitor {
	for _, t := range threads {
		t.Mempolicy = linux.MempolicyDefault
		if t.Asked() == 0 {
			continue
		}
		w := m.add(t)
		if !t.CPUs.Empty() && t.CPUs.First() == t.CPUs.Last() && !t.Free {
			w.migrations = migrations(t.TID)
		}
	}
	return m.begin()
}

// WatchMachine starts to watch the CPUs that this process may use, by its main thread, and the online CPUs. Changes are
// reported as mismatches, and changed is called at the first. It looks only at the main thread every Period, since the
// kernel also removes an offline CPU from that thread's mask.
func WatchMachine(changed func()) *Monitor {
	m := &Monitor{shared: true, changed: changed}
	online, err := readOnline()
	if err == nil {
		m.online = &onlineCPUs{last: online}
	}
	main := Thread{TID: os.Getpid()}
	if main.CPUs, err = linux.GetAffinity(main.TID); err == nil {
		m.add(main)
	}
	return m.begin()
}

func (m *Monitor) add(t Thread) *watchedThread {
	w := &watchedThread{Thread: t, of: m, state: csrc.NewWatched(t.TID, t.Nice != nil || t.Sched != nil)}
	m.threads = append(m.threads, w)
	return w
}

func (m *Monitor) begin() *Monitor {
	for _, w := range m.threads {
		w.state.Look() // before the read-back, so that a change between the two is not lost
		w.look()
	}
	if m.shared {
		share(func(all []*Monitor) []*Monitor { return append(all, m) })
	}
	return m
}

// End reads back all threads that have not ended a last time, and returns the number of read-backs since the start, and
// the first mismatches.
func (m *Monitor) End() (checked int, mismatches []string) {
	if m.shared {
		share(func(all []*Monitor) []*Monitor {
			return slices.DeleteFunc(all, func(other *Monitor) bool { return other == m })
		})
	}
	if m.online != nil {
		m.lookOnline()
	}
	for _, w := range m.threads {
		m.checked += w.state.Looks()
		w.state.Free()
	}
	for _, w := range m.threads {
		w.look()
		if w.migrations == nil || w.over {
			continue
		}
		if after := migrations(w.TID); after != nil && *after != *w.migrations {
			w.differ("it may use only CPU %s, but migrated %d times", w.CPUs, *after-*w.migrations)
		}
	}
	return m.checked, m.mismatches
}

// Own returns the changes that Free processes may have made themselves, after End. A change while its process used no
// CPU time is a mismatch instead.
func (m *Monitor) Own() []Mismatch { return m.own }

func (w *watchedThread) differ(format string, args ...any) {
	if w.Name != "" {
		format = w.Name + ": " + format
	}
	w.of.differ(format, args...)
}

func (m *Monitor) differ(format string, args ...any) {
	if len(m.mismatches) == 0 && m.changed != nil {
		m.changed()
	}
	if len(m.mismatches) < mismatchesKept {
		m.mismatches = append(m.mismatches, fmt.Sprintf(format, args...))
	}
}

// look reads the thread back.
func (w *watchedThread) look() {
	if w.over {
		return
	}
	mismatches, err := w.ReadBack(w.TID)
	if w.over = len(mismatches) > 0 || err != nil; errors.Is(err, syscall.ESRCH) || errors.Is(err, fs.ErrNotExist) {
		return // it has ended
	}
	w.of.checked++
	switch {
	case err != nil:
		w.differ("%v", err)
	case len(mismatches) == 0:
	case w.Free && !w.idle:
		w.of.own = append(w.of.own, mismatches...)
	case w.of.online == nil:
		w.differ("%v", mismatches[0])
	case !w.of.waitOnline(): // otherwise the reason is that the CPUs changed
		w.differ("the CPUs that gorun may use were %s and are %s", mismatches[0].Asked, mismatches[0].Got)
	}
}

// waitOnline is lookOnline, but waits for a CPU that is going offline: the kernel removes it from every mask before it
// lists it as offline (cpu_active_mask and cpu_online_mask, kernel/cpu.c).
func (m *Monitor) waitOnline() (changed bool) {
	for range 20 {
		if m.lookOnline() {
			return true
		}
		time.Sleep(Period / 20)
	}
	return false
}

// lookOnline reads the online CPUs, and reports whether they have changed since the start.
func (m *Monitor) lookOnline() (changed bool) {
	o := m.online
	is, err := readOnline()
	if err != nil {
		return o.changed
	}
	for _, change := range []struct {
		cpus cpuset.Set
		how  string
	}{{o.last.Minus(is), "went offline"}, {is.Minus(o.last), "came online"}} {
		switch change.cpus.Len() {
		case 0:
			continue
		case 1:
			m.differ("CPU %s %s", change.cpus, change.how)
		default:
			m.differ("CPUs %s %s", change.cpus, change.how)
		}
		o.changed = true
	}
	o.last = is
	return o.changed
}

// migrations returns the number of a thread's migrations; nil if the kernel does not report it.
func migrations(tid int) *uint64 {
	n, err := perf.ThreadMigrations(tid)
	if err != nil {
		return nil
	}
	return &n
}

// onlineCPUs is the kernel's list of online CPUs (Documentation/admin-guide/cputopology.rst).
type onlineCPUs struct {
	last    cpuset.Set
	changed bool
}

func readOnline() (cpuset.Set, error) {
	return sysfs.ReadSet(os.DirFS("/"), "sys/devices/system/cpu/online")
}

// poller is shared by the Monitors of this process: one thread serves all of them, because most of the cost is its
// wake-up (30 us in a virtual machine).
var poller struct {
	sync.Mutex
	monitors []*Monitor
	stop     *csrc.Stop
	ended    chan struct{} // closed when the thread has ended; nil: no thread
}

// share changes the list of Monitors of the thread.
func share(change func([]*Monitor) []*Monitor) {
	w := &poller
	w.Lock()
	defer w.Unlock()
	if w.ended != nil {
		csrc.StopWatch(w.stop)
		<-w.ended
		w.stop.Free()
		w.ended = nil
	}
	if w.monitors = change(w.monitors); len(w.monitors) == 0 {
		return
	}
	stop, begun, ended, monitors := csrc.NewStop(), make(chan struct{}), make(chan struct{}), w.monitors
	w.stop, w.ended = stop, ended
	go func() {
		defer close(ended)
		// It gets its own thread before anything is placed. It would otherwise keep a worker's thread from being
		// restored or ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		close(begun)
		for next(monitors, stop) {
		}
	}()
	<-begun
}

// next sleeps until a thread changes, and looks at it. It returns false after stop.
func next(monitors []*Monitor, stop *csrc.Stop) bool {
	var threads []*watchedThread
	var states []csrc.Watched
	for _, m := range monitors {
		for _, w := range m.threads {
			if !w.over {
				threads = append(threads, w)
				states = append(states, w.state)
			}
		}
	}
	changed := csrc.Watch(states, Period, stop)
	if changed < 0 {
		return false
	}
	w := threads[changed]
	w.idle = w.state.Idle()
	w.state.Look()
	w.look()
	return true
}
