package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"gorun/internal/kernel/cgroup"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/perf"
	"gorun/internal/record/result"
)

// runQueueThreads is the number of threads above which their run-queue delay is not measured: it takes one file read
// for each (25 µs).
const runQueueThreads = 512

// Watcher counts what disturbs a sample.
type Watcher struct {
	root       fs.FS
	cpus       cpuset.Set
	groups     cgroup.Groups
	migrations *perf.Counter // nil: not available
	energy     *energy       // nil: only what every run counts is asked for
	outside    bool          // the watched processes are others
}

// migrationThreads is the number of threads above which their migrations are not counted: the counters that every new
// thread inherits triple the time that 30,000 threads take to start.
const migrationThreads = 2048

// OpenWatcher finds out what can be counted on this machine. A counter that is not available gives a warning, not an
// error. root is the live machine; cpus are those of the run; threads is the number of threads that it will have at the
// same time.
func OpenWatcher(root fs.FS, cpus cpuset.Set, threads int) (*Watcher, []result.Warning) {
	w := newWatcher(root, cpus)
	warnings := w.lacking()
	if threads > runQueueThreads {
		warnings = append(warnings, noRunQueue.warning(errManyThreads))
	}
	if threads > migrationThreads {
		err := fmt.Errorf("a counter for each of %d threads would disturb the run", threads)
		return w, append(warnings, noMigrations.warning(err))
	}
	var err error
	if w.migrations, err = perf.OpenMigrations(); err != nil {
		return w, append(warnings, noMigrations.warning(err))
	}
	if err := w.migrations.Degraded; err != nil {
		warnings = append(warnings, someMigrations.warning(err))
	}
	return w, warnings
}

// unknown describes a counter that cannot be read: the code of the warning, and its text.
type unknown struct{ code, what string }

var (
	noAffinity     = unknown{"no-affinity", "whether threads keep to the CPUs of the run is not known"}
	noOtherTime    = unknown{"no-other-time", "steal and the CPU time of other programs (/proc/stat) are not known"}
	noRunQueue     = unknown{"no-run-queue", "how long threads wait for a CPU (/proc/self/task/TID/schedstat) is not known"}
	noThrottling   = unknown{"no-throttling", "whether a CPU quota stops threads is not known"}
	noPressure     = unknown{"no-cpu-pressure", "the pressure on CPUs (/proc/pressure/cpu) is not known"}
	noMemoryPeak   = unknown{"no-memory-peak", "the memory at the peak (/proc/self/status) is not known"}
	noUsage        = unknown{"no-usage", "CPU time, switches and page faults of processes are not known"}
	noMigrations   = unknown{"no-migrations", "migrations of threads are not counted"}
	someMigrations = unknown{"some-migrations", "migrations of threads that ended during a sample are not counted"}
)

func (u unknown) warning(err error) result.Warning { return result.WarningOf(u.code, u.what, err) }

// lacking returns a warning for each counter that cannot be read, with the file that it is in.
func (w *Watcher) lacking() []result.Warning {
	r := w.read()
	affinity, err := linux.GetAffinity(0)
	known(&r, noAffinity, affinity, err)
	if !w.outside {
		peak, err := linux.PeakRSS(w.root)
		known(&r, noMemoryPeak, peak, err)
	}
	return r.lacks
}

func newWatcher(root fs.FS, cpus cpuset.Set) *Watcher {
	return &Watcher{root: root, cpus: cpus, groups: cgroup.FindGroups(root)}
}

// Canary returns how many seconds a fixed loop takes on the caller's CPU: longer on a slower CPU.
func Canary() float64 {
	seconds, _ := canary(1)
	return seconds
}

// canarySteps are the steps of the canary's loop. At 4 cycles each (3 of a multiplication, 1 of an addition) they take
// 0.17 ms on a CPU of 3 GHz: long enough for the clock, and short compared with any sample.
const canarySteps = 1 << 17

// canary makes a fixed number of steps of a linear congruential generator (Knuth's MMIX), and returns how many seconds
// they took and the final state. Each step depends on the previous one, so that they cannot be shortened or overlapped,
// and they access no memory: a longer time shows that the CPU was slower at that moment, because of a lower clock, a
// shared core or preemption. It is not inlined, since the compiler could then remove the steps where end is unused.
//
//go:noinline
func canary(x uint64) (seconds float64, end uint64) {
	begun := time.Now()
	for range canarySteps {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return time.Since(begun).Seconds(), x
}

// Close closes the counters.
func (w *Watcher) Close() error {
	if w.migrations == nil {
		return nil
	}
	return w.migrations.Close()
}

// clockNoise is the apparent difference between two clocks that are read one after the other.
const clockNoise = 10 * time.Millisecond

// reading is every counter at one moment; nil is a counter that could not be read.
type reading struct {
	at         time.Time
	suspended  time.Duration          // since the machine was started
	stat       *cpuTimes              // of the run's CPUs
	turns      map[string]linux.Turns // of this process's threads
	throttled  *float64
	pressure   *float64
	migrations *uint64
	usage      *linux.Usage
	energy     []uint64 // of the packages
	io, memory *float64 // pressure on them
	ours       *float64 // CPU seconds of this process and of the children that it has waited for
	lacks      []result.Warning
}

// OpenOutside returns a watcher for samples that other processes take, which this one starts and waits for: it counts
// only signals of the whole machine. The processes' own counters (switches, faults) are on the sample before its
// quality is judged. CPU time of these processes and of this one, including their start and end, does not count as that
// of other programs.
func OpenOutside(root fs.FS, cpus cpuset.Set) (*Watcher, []result.Warning) {
	w := newWatcher(root, cpus)
	w.outside = true
	return w, w.lacking()
}

// Watch runs the canary and reads the counters. It returns a function that reads them again, and sets the differences
// and the grade of a sample. The canary's own time is not counted.
func (w *Watcher) Watch() func(*result.Sample) {
	canarySeconds := Canary()
	before := w.read()
	return func(s *result.Sample) { w.finish(s, canarySeconds, before, w.read()) }
}

func (w *Watcher) finish(s *result.Sample, canarySeconds float64, before, after reading) {
	w.fill(&s.Quality.Signals, before, after, ownSeconds(s, before, after))
	s.Quality.Signals.CanarySeconds = &canarySeconds
	if s.Counters != nil {
		w.count(s.Counters, before, after)
	}
	if !w.outside {
		threads := turnsBetween(before.turns, after.turns)
		s.QueuedShare = longestWait(threads, s.CPUSeconds()+s.LoadSeconds) / s.Quality.Signals.WatchedSeconds
		s.Account = accountOf(s, threads)
	}
	if own := s.Values.Own(); own != nil && !w.outside {
		if peak, err := linux.PeakRSS(w.root); err == nil {
			own.MemoryPeakBytes = &peak
		}
	}
	Judge(s, w.cpus.Len())
}

// ownSeconds returns the CPU time between two readings that does not belong to other programs: that of the sample, of
// the rest of its processes and of its server if known, and of the load.
func ownSeconds(s *result.Sample, before, after reading) float64 {
	if ours := increase(before.ours, after.ours); ours != nil {
		return *ours + s.Unwaited + s.LoadSeconds
	}
	return s.CPUSeconds() + s.LoadSeconds
}

func (w *Watcher) fill(sig *result.Signals, before, after reading, used float64) {
	sig.WatchedSeconds = after.at.Sub(before.at).Seconds()
	sig.StealSeconds, sig.OtherSeconds = nil, nil
	if was, is := before.stat, after.stat; was != nil && is != nil && sig.WatchedSeconds >= leastTicks*result.Tick {
		sig.StealSeconds = w.within(sig.WatchedSeconds, increase(&was.steal, &is.steal))
		if busy := increase(&was.busy, &is.busy); busy != nil {
			sig.OtherSeconds = w.within(sig.WatchedSeconds, new(*busy-used))
		}
	}
	sig.ThrottledSeconds = increase(before.throttled, after.throttled)
	sig.CPUPressureSeconds = increase(before.pressure, after.pressure)
	if !w.outside {
		w.fillOwn(sig, before, after)
	}
	suspended := 0.0
	if slept := after.suspended - before.suspended; slept > clockNoise {
		suspended = slept.Seconds()
	}
	sig.SuspendedSeconds = &suspended
	sig.MHz = readMHz(w.root, w.cpus)
}

// within returns CPU time that was counted in ticks, without the part of their error that is impossible: time below zero, or
// more than the CPUs had.
func (w *Watcher) within(watched float64, seconds *float64) *float64 {
	if seconds == nil {
		return nil
	}
	return new(max(0, min(*seconds, watched*float64(w.cpus.Len()))))
}

// waited returns how long threads waited, in seconds; nil: it is not known.
func waited(turns map[string]linux.Turns) *float64 {
	if turns == nil {
		return nil
	}
	sum := 0.0
	for _, t := range turns {
		sum += t.Waited
	}
	return &sum
}

// turnsBetween returns the turns that the threads had between two readings. Threads that have ended are not known.
func turnsBetween(before, after map[string]linux.Turns) (all []linux.Turns) {
	for id, t := range after {
		all = append(all, t.Since(before[id]))
	}
	return all
}

// longestWait returns the greatest lower bound of the time, in seconds, in which other programs had the CPU for which one of the
// threads waited. used is the CPU time of the sample, also that of threads that have ended.
func longestWait(threads []linux.Turns, used float64) (longest float64) {
	sum := 0.0
	for _, t := range threads {
		sum += t.OnCPU
	}
	for _, t := range threads {
		longest = max(longest, t.Without(max(sum, used)))
	}
	return longest
}

// mostUnaccounted is the share of the time of a watch, outside of its sample, above which the sample has no account.
const mostUnaccounted = 0.05

// accountOf returns the account of a sample that this process takes itself: that of its busiest thread. What the thread did in the watch
// before and after the sample was running. It returns nil if that was long, or if nothing is known of the threads.
func accountOf(s *result.Sample, threads []linux.Turns) *result.Account {
	var busiest linux.Turns
	for _, t := range threads {
		if t.OnCPU+t.Waited > busiest.OnCPU+busiest.Waited {
			busiest = t
		}
	}
	watched := s.Quality.Signals.WatchedSeconds
	if busiest.OnCPU == 0 || s.Seconds < watched*(1-mostUnaccounted) {
		return nil
	}
	busiest.OnCPU -= max(0, busiest.OnCPU+busiest.Waited-s.Seconds)
	if busiest.OnCPU < 0 {
		return nil
	}
	return result.AccountOf(s.Seconds, busiest.OnCPU, busiest.Waited, s.UserSeconds, s.SystemSeconds)
}

func (w *Watcher) fillOwn(sig *result.Signals, before, after reading) {
	sig.RunQueueSeconds = increase(waited(before.turns), waited(after.turns))
	if sig.Migrations = increase(before.migrations, after.migrations); sig.Migrations != nil {
		sig.MigrationsBy = string(w.migrations.Method)
	}
	if before.usage != nil && after.usage != nil {
		countUsage(sig, after.usage.Sub(*before.usage))
	}
}

// increase returns how much a counter grew; nil if it decreased, since the counts of threads that ended are lost.
func increase[N float64 | uint64](before, after *N) *N {
	if before == nil || after == nil || *after < *before {
		return nil
	}
	return new(*after - *before)
}

func (w *Watcher) read() reading {
	r := reading{at: time.Now(), suspended: linux.Suspended()}
	w.readMore(&r)
	stat, err := readStat(w.root, w.cpus)
	r.stat = known(&r, noOtherTime, stat, err)
	if w.outside {
		ours, err := linux.CPUSeconds()
		r.ours = known(&r, noUsage, ours, err)
	} else {
		w.readOwn(&r)
	}
	throttled, err := w.groups.ReadThrottling()
	r.throttled = known(&r, noThrottling, throttled, err)
	pressure, err := readPressure(w.root, "cpu")
	r.pressure = known(&r, noPressure, pressure, err)
	return r
}

// readOwn reads the counters of this process.
func (w *Watcher) readOwn(r *reading) {
	turns, err := readTurns(w.root)
	known(r, noRunQueue, turns, err)
	r.turns = turns
	if w.migrations != nil {
		if n, err := w.migrations.Read(); err == nil {
			r.migrations = &n
		}
	}
	usage, err := linux.ProcessUsage()
	r.usage = known(r, noUsage, usage, err)
}

// known returns a counter, or notes why it could not be read and returns nil.
func known[T any](r *reading, u unknown, counter T, err error) *T {
	if err != nil {
		r.lacks = append(r.lacks, u.warning(err))
		return nil
	}
	return &counter
}

// MigrationsLack returns why migrations cannot be counted exactly on this machine; nil if they can.
func MigrationsLack() error {
	counter, err := perf.OpenMigrations()
	if err != nil {
		return err
	}
	return errors.Join(counter.Degraded, counter.Close())
}

// Timed sets the wall time of the work in a sample, and the CPU time that this process used for it.
func Timed(s *result.Sample, work func() error) error {
	usage := linux.CountUsage()
	begun := time.Now()
	err := work()
	s.Seconds = time.Since(begun).Seconds()
	used, unread := usage()
	s.UserSeconds, s.SystemSeconds = used.UserSeconds, used.SystemSeconds
	return cmp.Or(err, unread)
}

// Until calls stop when ctx ends. The returned function undoes that; when it returns, stop is not being called.
func Until(ctx context.Context, stop func()) (done func()) {
	stopped := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		stop()
		close(stopped)
	})
	return func() {
		if !cancel() {
			<-stopped
		}
	}
}

// Used adds what processes used to a sample that has no other usage.
func Used(s *result.Sample, used linux.Usage) {
	s.UserSeconds, s.SystemSeconds = used.UserSeconds, used.SystemSeconds
	countUsage(&s.Quality.Signals, used)
}

func countUsage(sig *result.Signals, used linux.Usage) {
	sig.VoluntarySwitches, sig.InvoluntarySwitches = &used.VoluntarySwitches, &used.InvoluntarySwitches
	sig.MinorFaults, sig.MajorFaults = &used.MinorFaults, &used.MajorFaults
}
