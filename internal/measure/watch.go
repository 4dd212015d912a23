package measure

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/prometheus/procfs"

	"gorun/internal/cgroup"
	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/perf"
	"gorun/internal/result"
)

// runQueueThreads is the number of threads above which their run-queue delay is not added up: it takes a file read
// each (25 µs).
const runQueueThreads = 512

// Watcher counts what disturbs a sample.
type Watcher struct {
	root       fs.FS
	proc       procfs.FS
	cpus       cpuset.Set
	groups     *cgroup.Groups // nil: could not be found
	migrations *perf.Counter  // nil: could not be had
	outside    bool           // what is watched is other processes
}

// migrationThreads is the number of threads above which their migrations are not counted: the counters that every new
// thread inherits triple the time that 30,000 threads take to start.
const migrationThreads = 2048

// OpenWatcher finds out what can be counted on this machine. What cannot is a warning, not an error. root is the live
// machine; cpus are those of the run; threads is how many it will have at once.
func OpenWatcher(root fs.FS, cpus cpuset.Set, threads int) (*Watcher, []result.Warning, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, nil, err
	}
	w := newWatcher(root, proc, cpus)
	const code, what = "no-migrations", "migrations of threads are not counted"
	if threads > migrationThreads {
		err := fmt.Errorf("a counter for each of %d threads would disturb the run", threads)
		return w, []result.Warning{result.WarningOf(code, what, err)}, nil
	}
	if w.migrations, err = perf.OpenMigrations(); err != nil {
		return w, []result.Warning{result.WarningOf(code, what, err)}, nil
	}
	if err := w.migrations.Degraded(); err != nil {
		const what = "migrations of threads that ended during a sample are not counted"
		return w, []result.Warning{result.WarningOf("some-migrations", what, err)}, nil
	}
	return w, nil, nil
}

func newWatcher(root fs.FS, proc procfs.FS, cpus cpuset.Set) *Watcher {
	w := &Watcher{root: root, proc: proc, cpus: cpus}
	if groups, err := cgroup.FindGroups(root); err == nil {
		w.groups = &groups
	}
	return w
}

// Canary returns how many seconds a fixed loop takes on the CPU that the caller runs on: more where the CPU is slower.
func Canary() float64 {
	seconds, _ := canary(1)
	return seconds
}

// Close closes the counters.
func (w *Watcher) Close() error {
	if w.migrations == nil {
		return nil
	}
	return w.migrations.Close()
}

// reading is every counter at one moment; nil is a counter that could not be read.
type reading struct {
	at          time.Time
	steal, busy *float64 // seconds, of the run's CPUs
	runQueue    *float64
	throttled   *float64
	pressure    *float64
	migrations  *uint64
	usage       *linux.Usage
	ours        *float64 // CPU seconds of this process and of those that it has waited for
}

// OpenOutside watches samples that are taken by other processes, which this one starts and waits for: signals of the whole
// machine only. What the processes themselves tell (switches, faults) is on the sample before its quality is judged. All
// that they and this one used meanwhile, to start and to end too, is not other programs'.
func OpenOutside(root fs.FS, cpus cpuset.Set) (*Watcher, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, err
	}
	w := newWatcher(root, proc, cpus)
	w.outside = true
	return w, nil
}

// Watch runs the canary and reads the counters, and returns what reads them again and puts the differences, and the
// verdict, on a sample. The canary's own time is before all that is counted.
func (w *Watcher) Watch() func(*result.Sample) {
	canarySeconds := Canary()
	before := w.read()
	return func(s *result.Sample) {
		after := w.read()
		w.fill(&s.Quality.Signals, before, after, ownSeconds(s, before, after))
		s.Quality.Signals.CanarySeconds = &canarySeconds
		if w.outside {
			Judge(s, w.cpus.Len())
			return
		}
		if own := s.Values.Own(); own != nil {
			if peak, err := linux.PeakRSS(w.root); err == nil {
				own.MemoryPeakBytes = &peak
			}
		}
		Judge(s, w.cpus.Len())
	}
}

// ownSeconds is the CPU time between two readings that was not other programs': the sample's, with what its processes took
// beside it where that is known, and the load's.
func ownSeconds(s *result.Sample, before, after reading) float64 {
	if ours := grown(before.ours, after.ours); ours != nil {
		return *ours + s.LoadSeconds
	}
	return s.CPUSeconds() + s.LoadSeconds
}

func (w *Watcher) fill(sig *result.Signals, before, after reading, own float64) {
	sig.WatchedSeconds = after.at.Sub(before.at).Seconds()
	sig.StealSeconds = grown(before.steal, after.steal)
	if busy := grown(before.busy, after.busy); busy != nil {
		others := *busy - own // a little below zero is the rounding of ticks; cut off, it would be a bias of what is above
		sig.OtherSeconds = &others
	}
	sig.ThrottledSeconds = grown(before.throttled, after.throttled)
	sig.CPUPressureSeconds = grown(before.pressure, after.pressure)
	if !w.outside {
		w.fillOwn(sig, before, after)
	}
	sig.MHz = readMHz(w.root, w.cpus)
}

func (w *Watcher) fillOwn(sig *result.Signals, before, after reading) {
	sig.RunQueueSeconds = grown(before.runQueue, after.runQueue)
	if sig.Migrations = grown(before.migrations, after.migrations); sig.Migrations != nil {
		sig.MigrationsBy = string(w.migrations.Method())
	}
	if before.usage != nil && after.usage != nil {
		used := after.usage.Sub(*before.usage)
		sig.VoluntarySwitches, sig.InvoluntarySwitches = &used.VoluntarySwitches, &used.InvoluntarySwitches
		sig.MinorFaults, sig.MajorFaults = &used.MinorFaults, &used.MajorFaults
	}
}

// grown is by how much a counter grew; a counter that went back (threads that ended took theirs along) tells nothing.
func grown[N float64 | uint64](before, after *N) *N {
	if before == nil || after == nil || *after < *before {
		return nil
	}
	d := *after - *before
	return &d
}

func (w *Watcher) read() reading {
	r := reading{at: time.Now()}
	if stat, err := w.proc.Stat(); err == nil {
		var steal, busy float64
		for cpu, t := range stat.CPU {
			if w.cpus.Contains(int(cpu)) {
				steal += t.Steal
				busy += t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ // guest time is within user
			}
		}
		r.steal, r.busy = &steal, &busy
	}
	if w.outside {
		r.ours = readOurs()
	} else {
		w.readOwn(&r)
	}
	if w.groups != nil {
		if throttled, err := w.groups.ReadThrottling(); err == nil {
			r.throttled = &throttled.Seconds
		}
	}
	if psi, err := w.proc.PSIStatsForResource("cpu"); err == nil && psi.Some != nil {
		seconds := float64(psi.Some.Total) / 1e6
		r.pressure = &seconds
	}
	return r
}

func readOurs() *float64 {
	own, err := linux.ProcessUsage()
	if err != nil {
		return nil
	}
	children, err := linux.ChildrenUsage()
	if err != nil {
		return nil
	}
	seconds := own.UserSeconds + own.SystemSeconds + children.UserSeconds + children.SystemSeconds
	return &seconds
}

// readOwn reads what is counted for this process alone.
func (w *Watcher) readOwn(r *reading) {
	r.runQueue = w.readRunQueue()
	if w.migrations != nil {
		if n, err := w.migrations.Read(); err == nil {
			r.migrations = &n
		}
	}
	if usage, err := linux.ProcessUsage(); err == nil {
		r.usage = &usage
	}
}

// readRunQueue adds up how long the process's threads have waited for a CPU (/proc/PID/task/TID/schedstat).
func (w *Watcher) readRunQueue() *float64 {
	self, err := w.proc.Self()
	if err != nil {
		return nil
	}
	threads, err := w.proc.AllThreads(self.PID)
	if err != nil || len(threads) > runQueueThreads {
		return nil
	}
	var seconds float64
	for _, thread := range threads {
		stat, err := thread.Schedstat()
		if errors.Is(err, fs.ErrNotExist) {
			continue // it ended meanwhile
		}
		if err != nil {
			return nil
		}
		seconds += float64(stat.WaitingNanoseconds) / 1e9
	}
	return &seconds
}
