package linux

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/sysfs"
)

// Gettid returns the TID of the calling thread (gettid(2)).
func Gettid() int { return unix.Gettid() }

// AllowedCPUs returns the mask that the kernel keeps for a thread (Cpus_allowed_list of its status,
// proc_pid_status(5)); TID 0 is the calling thread. Unlike GetAffinity it includes offline CPUs. If SetAffinity
// restores it, the thread may run on them when they are online again.
func AllowedCPUs(tid int) (cpuset.Set, error) {
	if tid == 0 {
		tid = Gettid()
	}
	text, err := sysfs.ReadField(os.DirFS("/"), fmt.Sprintf("proc/%d/status", tid), "Cpus_allowed_list")
	if err != nil {
		return cpuset.Set{}, err
	}
	return cpuset.Parse(text)
}

// Tasks returns the TIDs of this process's threads in ascending order, from /proc/self/task. It is not atomic: threads
// start and end while it reads.
func Tasks() ([]int, error) { return tasks("self") }

// TasksOf returns the TIDs of a process's threads, as Tasks does.
func TasksOf(pid int) ([]int, error) { return tasks(strconv.Itoa(pid)) }

func tasks(process string) ([]int, error) {
	threads, err := os.ReadDir("/proc/" + process + "/task")
	if err != nil {
		return nil, fmt.Errorf("list the threads of process %s: %w", process, err)
	}
	return numbered(threads), nil
}
