package linux

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// AdoptOrphans makes this process the parent of each descendant whose own parent ends (prctl(2),
// PR_SET_CHILD_SUBREAPER), so that it can find all of them, even those in another session.
func AdoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return &Error{Op: "adopt orphans", Err: err}
	}
	return nil
}

// Descendants returns the PIDs of all descendants of this process, including zombies, from /proc/PID/stat. It is not
// atomic: processes start and end while it reads.
func Descendants() ([]int, error) { return scanned(os.Getpid()) }

// DescendantsOf returns the PIDs of a process's descendants. It leaves out another process with its own descendants. A process that
// has ended has none. It takes some 10 µs for each thread of the descendants; on a kernel without CONFIG_PROC_CHILDREN, for each process of
// the system.
func DescendantsOf(pid, without int) (pids []int, err error) {
	if _, found, err := childrenOf(pid); err == nil {
		for len(found) > 0 {
			next := found[0]
			found = found[1:]
			if next == without {
				continue
			}
			pids = append(pids, next)
			if _, below, err := childrenOf(next); err == nil { // otherwise it has ended
				found = append(found, below...)
			}
		}
		return pids, nil
	}
	all, err := scanned(pid)
	if err != nil || !slices.Contains(all, without) {
		return all, err
	}
	others, err := scanned(without)
	return slices.DeleteFunc(all, func(pid int) bool { return pid == without || slices.Contains(others, pid) }), err
}

// scanned returns the PIDs of a process's descendants, from the parents of all processes of the system.
func scanned(pid int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	children := map[int][]int{}
	for _, pid := range numbered(entries) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended
		}
		if _, parent, ok := parseStat(stat); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	found := children[pid]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found, nil
}

// parseStat finds the state and the parent's PID in /proc/PID/stat, "PID (NAME) STATE PARENT …", where NAME may hold
// anything (proc_pid_stat(5)).
func parseStat(stat []byte) (state byte, parent int, ok bool) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return fields[0][0], parent, err == nil
}

// InheritedFiles returns the descriptors above stderr that a program started by this process would inherit: the
// descriptors without close-on-exec. They come from the process that started this one, since Go opens files with close-on-exec.
func InheritedFiles() ([]int, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, fmt.Errorf("list the open files: %w", err)
	}
	var open []int
	for _, fd := range numbered(entries) {
		if fd <= unix.Stderr {
			continue
		}
		// An error means the descriptor of the list itself, which is closed now.
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			open = append(open, fd)
		}
	}
	return open, nil
}

// Terminal reports whether this process has a controlling terminal, and whether it is in the terminal's foreground
// process group (tty_ioctl(4), TIOCGPGRP).
func Terminal() (has, foreground bool) {
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, false
	}
	defer unix.Close(tty)
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return true, err == nil && group == unix.Getpgrp()
}

// DieWithParent returns the attributes of a command that the kernel kills when the thread that started it ends
// (prctl(2), PR_SET_PDEATHSIG). It stays in the process group. A program with set-user-ID or file capabilities is not
// killed.
func DieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// AwaitEnd waits until this child has ended (waitid(2)). It does not reap the child.
func AwaitEnd(pid int) error {
	_, err := awaitEnd(unix.P_PID, pid)
	return err
}

// AwaitEnded waits until a child has ended, and returns its PID (waitid(2)). It does not reap the child. It returns an
// error if there is no child.
func AwaitEnded() (pid int, err error) { return awaitEnd(unix.P_ALL, 0) }

func awaitEnd(which, id int) (pid int, err error) {
	var info unix.Siginfo
	for {
		if err = unix.Waitid(which, id, &info, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return 0, &Error{Op: "wait for a child", Err: err}
	}
	return childOf(&info), nil
}

// childOf returns the PID of the child that a siginfo_t is about; 0: none. It follows the three numbers at the start, and the
// padding of 64-bit machines (include/uapi/asm-generic/siginfo.h).
func childOf(info *unix.Siginfo) int {
	const align = unsafe.Alignof(uintptr(0))
	at := (unsafe.Offsetof(info.Code) + unsafe.Sizeof(info.Code) + align - 1) &^ (align - 1)
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), at)))
}

// ChildAttr returns the attributes of a child process: in a new process group, so that a terminal's ^C reaches only the
// parent, and killed when the thread that started it ends, as after a SIGKILL of the parent (prctl(2),
// PR_SET_PDEATHSIG). The caller keeps its goroutine locked to its thread while the child runs.
func ChildAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
