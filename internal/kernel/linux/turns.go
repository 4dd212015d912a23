package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

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
	text, err := sysfs.ReadString(root, name)
	if err != nil {
		return Turns{}, err
	}
	t, err := parseTurns(text)
	if err != nil {
		err = sysfs.Malformed(name, "%v", err)
	}
	return t, err
}

// parseTurns reads "NS-ON-CPU NS-WAITED TURNS".
func parseTurns(text string) (t Turns, err error) {
	fields := strings.Fields(text)
	if len(fields) != 3 {
		return Turns{}, errors.New("these are not three numbers")
	}
	ran, ranErr := strconv.ParseUint(fields[0], 10, 64)
	waited, waitedErr := strconv.ParseUint(fields[1], 10, 64)
	count, countErr := strconv.Atoi(fields[2])
	return Turns{float64(ran) / 1e9, float64(waited) / 1e9, count}, errors.Join(ranErr, waitedErr, countErr)
}

// ThreadTurns returns the turns of a thread of this machine.
func ThreadTurns(tid int) (Turns, error) {
	text, err := ReadProc(threadDir(tid) + "/schedstat")
	if err != nil {
		return Turns{}, err
	}
	return parseTurns(string(text))
}

// Add returns the sum of the turns of two threads.
func (t Turns) Add(u Turns) Turns {
	return Turns{OnCPU: t.OnCPU + u.OnCPU, Waited: t.Waited + u.Waited, Count: t.Count + u.Count}
}

// TurnsOf returns the turns of the first thread of a process, which may have ended and not been waited for.
func TurnsOf(root fs.FS, pid int) (Turns, error) {
	return ReadTurns(root, fmt.Sprintf("proc/%d/schedstat", pid))
}

// Since returns the turns after an earlier reading.
func (t Turns) Since(before Turns) Turns {
	return Turns{t.OnCPU - before.OnCPU, t.Waited - before.Waited, t.Count - before.Count}
}

// Within returns the turns in a time of this many seconds, if they were read at most this much later.
func (t Turns) Within(seconds, later float64) Turns {
	if after := t.OnCPU + t.Waited - seconds; after > 0 && after <= later {
		waited := min(after, t.Waited)
		t.Waited, t.OnCPU = t.Waited-waited, t.OnCPU-(after-waited)
	}
	return t
}

// Without returns a lower bound of the seconds for which this thread waited for a CPU that other programs had. all is the CPU time of this
// thread and of all threads of its own program: it waited for those at most as long as they had a CPU.
func (t Turns) Without(all float64) float64 { return t.Waited - max(0, all-t.OnCPU) }
