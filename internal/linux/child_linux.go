package linux

import "syscall"

// ChildAttr is how a child process is started: in a process group of its own, so that a terminal's ^C reaches the
// parent alone, which decides; and killed when the thread that started it ends, as after a SIGKILL of the parent
// (prctl(2), PR_SET_PDEATHSIG). The caller keeps its goroutine locked to its thread while the child runs.
func ChildAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
