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

// Children returns the PIDs of this process's children; on a kernel without CONFIG_PROC_CHILDREN, of all its descendants, for which it
// reads a file of each process of the system.
func Children() ([]int, error) {
	_, pids, err := childrenOf(os.Getpid())
	if errors.Is(err, fs.ErrNotExist) {
		return Descendants()
	}
	return pids, err
}

// EachProcess calls visit for a process and for each of its descendants, with the TIDs of their threads. It takes some 10 µs for each
// thread. On a kernel without CONFIG_PROC_CHILDREN it finds no descendants.
func EachProcess(pid int, visit func(pid int, tids []int)) {
	for pids := []int{pid}; len(pids) > 0; pids = pids[1:] {
		tids, children, _ := childrenOf(pids[0])
		if len(tids) > 0 { // otherwise it has ended
			visit(pids[0], tids)
		}
		pids = append(pids, children...)
	}
}

// Stopped reports whether a process is stopped by a signal.
func Stopped(pid int) bool { return state(pid) == 'T' }

// Runnable reports whether the first thread of a process has a CPU or could run.
func Runnable(pid int) bool { return state(pid) == 'R' }

// state returns the state of a process (field 3 of proc_pid_stat(5)); 0: it is not known.
func state(pid int) byte {
	text, err := ReadProc(fmt.Sprintf("/proc/%d/stat", pid))
	state, _, ok := parseStat(text)
	if err != nil || !ok {
		return 0
	}
	return state
}

// threadDir returns the directory of a thread that may be looked at often: /proc/TID (proc(5)), which is not listed, and not
// /proc/PID/task/TID. The kernel drops what was looked up there twice: when the thread ends, and when its process is reaped. If both happen at the
// same time, the second one waits for the first in a loop (d_invalidate in fs/dcache.c): 30 ms of CPU time at each end of a process, on a
// busy machine.
func threadDir(tid int) string { return fmt.Sprintf("/proc/%d", tid) }

// LastCPU returns the CPU on which a thread runs, or ran last (field 39 of proc_pid_stat(5)).
func LastCPU(tid int) (cpu int, err error) {
	text, err := ReadProc(threadDir(tid) + "/stat")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // from the third on
	if len(fields) < 37 {
		return 0, errors.New("stat has no CPU")
	}
	return strconv.Atoi(string(fields[36]))
}

// childrenOf returns the TIDs of a process's threads, also if the error is fs.ErrNotExist since the kernel does not list children, and the PIDs of its children (proc_tid_children(5)).
func childrenOf(pid int) (tids, pids []int, err error) {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, nil, err
	}
	tids = numbered(threads)
	for i, tid := range tids {
		text, err := ReadProc(fmt.Sprintf("%s/task/%d/children", threadDir(tid), tid))
		if i == 0 && errors.Is(err, fs.ErrNotExist) { // another thread may have ended since
			return tids, nil, err
		}
		for _, field := range bytes.Fields(text) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return tids, pids, nil
}
