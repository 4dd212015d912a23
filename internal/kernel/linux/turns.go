package linux

import (
	"fmt"
	"io/fs"

	"gorun/internal/kernel/sysfs"
)

// Turns is what a thread had of CPUs (/proc/PID/task/TID/schedstat, Documentation/scheduler/sched-stats.rst).
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

// TurnsOf reads those of the first thread of a process, which may have ended and not been waited for.
func TurnsOf(root fs.FS, pid int) (Turns, error) {
	return ReadTurns(root, fmt.Sprintf("proc/%d/schedstat", pid))
}

// Without returns a lower bound of the time, in seconds, in which other programs had the CPU for which this thread waited, where
// all threads that it may have waited for had this CPU time: they had a CPU at most that long.
func (t Turns) Without(all float64) float64 { return t.Waited - max(0, all-t.OnCPU) }
