package linux

import "syscall"

// ChildAttr returns the attributes of a child process: in a new process group, so that a terminal's ^C reaches only the
// parent, and killed when the thread that started it ends, as after a SIGKILL of the parent (prctl(2),
// PR_SET_PDEATHSIG). The caller keeps its goroutine locked to its thread while the child runs.
func ChildAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
