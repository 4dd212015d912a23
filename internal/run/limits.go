package run

import (
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"
	"strings"

	"gorun/internal/experiment"
	"gorun/internal/hint"
	"gorun/internal/linux"
)

// What the Go runtime and a process of gorun take in addition to what is asked for.
const (
	// runtimeThreads are those that the runtime may want for itself: sysmon, the template thread, those in system calls.
	runtimeThreads = 8
	// Measured with 20 processes of gorun on 2 CPUs, with cgo, as entries of /proc/PID/task and as RssAnon and VmPTE: 7 to
	// 9 threads and 2.7 MiB.
	processThreads = 10
	processBytes   = 3 << 20

	defaultMaxThreads = 10_000 // runtime/debug.SetMaxThreads
)

// enough refuses a run that needs more threads or processes than the machine allows.
func enough(e Env, need experiment.Resources) error {
	if need.Threads > 0 {
		if err := enoughThreads(e.Root, need.Threads); err != nil {
			return err
		}
	}
	if need.Processes > 0 {
		return enoughProcesses(e.Root, need.Processes, need.ProcessBytes)
	}
	return nil
}

// enoughThreads also raises the runtime's own limit. The Go runtime cannot survive that the kernel refuses a thread.
func enoughThreads(root fs.FS, need int) error {
	limits, err := linux.ThreadLimits(root, linux.Cgo)
	if err != nil {
		return err
	}
	own := runtime.GOMAXPROCS(0) + runtimeThreads
	obstacles := linux.Obstacles(limits, need+own)
	if len(obstacles) == 0 {
		allowThreads(need)
		return nil
	}
	return refused(fmt.Sprintf("%d threads and %d of the Go runtime", need, own), obstacles)
}

// allowThreads raises the runtime's own limit.
func allowThreads(need int) { debug.SetMaxThreads(max(defaultMaxThreads, 2*need)) }

func enoughProcesses(root fs.FS, need int, bytes uint64) error {
	limits, err := linux.ProcessLimits(root, processThreads, bytes+processBytes)
	if err != nil {
		return err
	}
	obstacles := linux.Obstacles(limits, need)
	if len(obstacles) == 0 {
		return nil
	}
	err = refused(fmt.Sprintf("%d processes", need), obstacles)
	return hint.With(err, hint.Of(err)+"; or give fewer --processes, or a smaller --array")
}

// refused names what leaves too little room for what is needed at once.
func refused(need string, obstacles []linux.Limit) error {
	rooms, ways := make([]string, len(obstacles)), make([]string, len(obstacles))
	for i, l := range obstacles {
		rooms[i] = fmt.Sprintf("%s leaves room for %d", l.Name, l.Room())
		ways[i] = l.Hint
	}
	return hint.With(fmt.Errorf("%s at once are not possible: %s", need, strings.Join(rooms, ", ")),
		strings.Join(ways, "; "))
}
