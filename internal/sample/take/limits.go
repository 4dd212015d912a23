package take

import (
	"io/fs"
	"runtime"
	"runtime/debug"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
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

// Enough returns an error for a run that needs more threads, processes or memory than the machine allows: the Go runtime
// aborts if the kernel refuses a thread. It also raises the runtime's own limit. It warns about each limit that could not
// be read, and ignores it.
func Enough(root fs.FS, r experiment.Resources) (warnings []result.Warning, err error) {
	need := linux.Need{
		Others: r.Processes*processThreads + r.Copies,
		Bytes:  float64(r.Bytes) + float64(r.Processes)*float64(r.ProcessBytes+processBytes),
	}
	if need.Others > 0 {
		need.Others += processThreads // of the supervisor, which also has a thread for each
	}
	if threads := max(r.Threads, r.Processes+r.Copies); threads > 0 {
		need.Threads = threads + runtime.GOMAXPROCS(0) + runtimeThreads
		AllowThreads(threads)
	}
	if need == (linux.Need{}) {
		return nil, nil
	}
	unread, err := linux.Enough(root, need)
	for _, err := range unread {
		warnings = append(warnings, result.WarningOf("unknown-limit", "a limit of this machine is not known", err))
	}
	if err != nil && r.Less != "" {
		err = hint.With(err, hint.Of(err)+"; or "+r.Less)
	}
	return warnings, err
}

// AllowThreads raises the runtime's own limit.
func AllowThreads(need int) { debug.SetMaxThreads(max(defaultMaxThreads, 2*need)) }
