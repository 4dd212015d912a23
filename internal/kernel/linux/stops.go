package linux

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ChildEnded reports whether a child process has ended and has not been waited for yet. It does not reap the child.
func ChildEnded(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo == int32(unix.SIGCHLD) // 0: it is running
}

// HasStoppedDescendant reports whether a descendant of this process is stopped by a signal: state T in /proc/PID/stat.
// It takes some 10 µs for each thread of the descendants; on a kernel without CONFIG_PROC_CHILDREN, for each process of
// the system.
func HasStoppedDescendant() (bool, error) {
	below := childrenOf
	pids, err := below(os.Getpid())
	if errors.Is(err, fs.ErrNotExist) {
		below = func(int) ([]int, error) { return nil, nil }
		pids, err = Descendants()
	}
	if err != nil {
		return false, err
	}
	for i := 0; i < len(pids); i++ {
		if Stopped(pids[i]) {
			return true, nil
		}
		if children, err := below(pids[i]); err == nil {
			pids = append(pids, children...)
		}
	}
	return false, nil
}

// Stopped reports whether a process is stopped by a signal.
func Stopped(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	state, _, ok := parseStat(text)
	return err == nil && ok && state == 'T'
}

// childrenOf returns the PIDs of a process's children (proc_tid_children(5)).
func childrenOf(pid int) (pids []int, err error) {
	tasks := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := os.ReadDir(tasks)
	if err != nil {
		return nil, err
	}
	for i, thread := range threads {
		text, err := os.ReadFile(tasks + "/" + thread.Name() + "/children")
		if i == 0 && errors.Is(err, fs.ErrNotExist) { // another thread may have ended since
			return nil, err
		}
		for _, field := range bytes.Fields(text) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids, nil
}
