package linux

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Gettid returns the TID of the calling thread (gettid(2)).
func Gettid() int { return unix.Gettid() }

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
