package run

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"gorun/internal/experiment"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/result"
)

// What the Go runtime and a process of gorun need in addition to the requested resources.
const (
	// runtimeThreads is the number of threads that the runtime may need for itself: sysmon, the template thread, those
	// in system calls.
	runtimeThreads = 8
	// Measured with 20 processes of gorun on 2 CPUs, as entries of /proc/PID/task and as RssAnon and VmPTE: 7 to
	// 9 threads and 2.7 MiB.
	processThreads = 10
	processBytes   = 3 << 20

	defaultMaxThreads = 10_000 // runtime/debug.SetMaxThreads
)

const (
	// longest is the longest planned duration of a run without --budget, in seconds: more is probably a mistake.
	longest = 86_400
	// leastSample is the least duration of a sample, in seconds: some kernel files are read before and after it.
	leastSample = 50e-6
)

// affordable returns an error for a run that would take more than a day and has no --budget. executions is the least
// number of executions, with warm-ups, and fixed the time that samples share, in seconds.
func (o *Options) affordable(executions, fixed float64, need experiment.Resources) error {
	seconds := executions*max(leastSample, need.Least) + fixed
	if seconds <= longest || o.budgeted {
		return nil
	}
	by := slices.Clone(need.LeastBy)
	if fixed > 0 {
		by = append(by, "--duration")
	}
	if o.samples > 1 {
		by = append(by, fmt.Sprintf("--samples %d", o.samples))
	}
	if o.warmup > 0 {
		by = append(by, fmt.Sprintf("--warmup %d", o.warmup))
	}
	way := "give it less work"
	if o.has("budget") {
		way += ", or give --budget (0: no limit)"
	}
	return hint.Usage(hint.With(
		fmt.Errorf("this would take %.3g days or more: %s", seconds/longest, strings.Join(by, ", ")), way))
}

// executions returns the least number of executions of a plain run.
func executions(s experiment.Schedule, cells, warmup int) float64 {
	samples, all := float64(max(1, s.Samples)), float64(cells)
	switch s.Order {
	case experiment.Watch:
		return 1
	case experiment.Pairs:
		return 2 * samples
	case experiment.Blocks, experiment.Rows:
		return samples*all + float64(warmup)
	}
	if s.Duration > 0 {
		samples = 1
	}
	return (samples + float64(warmup)) * all
}

// enough returns an error for a run that needs more threads, processes or memory than the machine allows: the Go runtime
// aborts if the kernel refuses a thread. It also raises the runtime's own limit. It warns about each limit that could not
// be read, and ignores it.
func enough(e Env, r experiment.Resources) (warnings []result.Warning, err error) {
	need := linux.Need{
		Others: r.Processes * processThreads,
		Bytes:  float64(r.Bytes) + float64(r.Processes)*float64(r.ProcessBytes+processBytes),
	}
	if r.Threads > 0 {
		need.Threads = r.Threads + runtime.GOMAXPROCS(0) + runtimeThreads
		allowThreads(r.Threads)
	}
	if need == (linux.Need{}) {
		return nil, nil
	}
	unread, err := linux.Enough(e.Root, need)
	for _, err := range unread {
		warnings = append(warnings, result.WarningOf("unknown-limit", "a limit of this machine is not known", err))
	}
	if err != nil && r.Less != "" {
		err = hint.With(err, hint.Of(err)+"; or "+r.Less)
	}
	return warnings, err
}

// allowThreads raises the runtime's own limit.
func allowThreads(need int) { debug.SetMaxThreads(max(defaultMaxThreads, 2*need)) }
