package linux

import (
	"fmt"
	"io/fs"

	"gorun/internal/kernel/sysfs"
)

// Turns is how long a thread had a CPU, and how long it waited for one (/proc/PID/task/TID/schedstat, Documentation/scheduler/sched-stats.rst).
type Turns struct {
	OnCPU  float64 `json:"on_cpu"` // seconds
	Waited float64 `json:"waited"` // seconds in which it could have run, and another thread had its CPU
	Count  int     `json:"count"`  // of turns; 0: a kernel without CONFIG_SCHED_INFO, which shows zeros
}

// ReadTurns reads a file schedstat. root is rooted at /.
func ReadTurns(root fs.FS, name string) (Turns, error) {
	numbers, err := sysfs.ReadInts(root, name)
	if err == nil && len(numbers) != 3 {
		err = sysfs.Malformed(name, "these are not three numbers")
	}
	if err != nil {
		return Turns{}, err
	}
	return Turns{float64(numbers[0]) / 1e9, float64(numbers[1]) / 1e9, numbers[2]}, nil
}

// TurnsOf returns the turns of the first thread of a process, which may have ended and not been waited for.
func TurnsOf(root fs.FS, pid int) (Turns, error) {
	return ReadTurns(root, fmt.Sprintf("proc/%d/schedstat", pid))
}

// Since returns the turns after an earlier reading.
func (t Turns) Since(before Turns) Turns {
	return Turns{t.OnCPU - before.OnCPU, t.Waited - before.Waited, t.Count - before.Count}
}

// Without returns a lower bound of the seconds for which this thread waited for a CPU that other programs had. all is the CPU time of this
// thread and of all threads of its own program: it waited for those at most as long as they had a CPU.
func (t Turns) Without(all float64) float64 { return t.Waited - max(0, all-t.OnCPU) }
