package linux

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"gorun/internal/cpuset"
	"gorun/internal/sysfs"
)

// Gettid returns the TID of the calling thread (gettid(2)).
func Gettid() int { return unix.Gettid() }

// AllowedCPUs returns the mask that the kernel keeps for a thread of this process (Cpus_allowed_list of its status,
// proc_pid_status(5)). CPUs that are offline stay in it; GetAffinity leaves them out. Set with SetAffinity, it lets the
// thread run on them again when they are back.
func AllowedCPUs(tid int) (cpuset.Set, error) {
	text, err := sysfs.ReadField(os.DirFS("/"), fmt.Sprintf("proc/self/task/%d/status", tid), "Cpus_allowed_list")
	if err != nil {
		return cpuset.Set{}, err
	}
	return cpuset.Parse(text)
}

// Tasks returns the TIDs of this process's threads in ascending order, from /proc/self/task. Threads come and go while
// it reads.
func Tasks() ([]int, error) {
	dir, err := os.Open("/proc/self/task")
	if err != nil {
		return nil, fmt.Errorf("list the threads of this process: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list the threads of this process: %w", err)
	}
	tids := make([]int, len(names))
	for i, name := range names {
		if tids[i], err = strconv.Atoi(name); err != nil {
			return nil, fmt.Errorf("list the threads of this process: %w", err)
		}
	}
	slices.Sort(tids)
	return tids, nil
}
