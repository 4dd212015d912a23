package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Error is a refusal by the kernel: the request, the answer and the remedy. For errors.Is, a missing privilege is
// fs.ErrPermission, and a missing system call is errors.ErrUnsupported.
type Error struct {
	Op     string // the request: "set nice -5"
	Err    error  // the kernel's answer
	Remedy string // one clause; empty if none is known
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Op, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Hint returns the remedy, and for a missing privilege or system call whether a seccomp filter may be the cause.
func (e *Error) Hint() string {
	status, _ := os.ReadFile("/proc/self/status") // without it, no filter is known
	return e.hint(string(status))
}

// hint returns the Hint of a process with this /proc/PID/status.
func (e *Error) hint(status string) string {
	hints := make([]string, 0, 2)
	if e.Remedy != "" {
		hints = append(hints, e.Remedy)
	}
	missing := errors.Is(e.Err, syscall.ENOSYS) // some filters answer this for calls that the kernel has
	switch {
	case (missing || errors.Is(e.Err, fs.ErrPermission)) && seccompFiltered(status):
		hints = append(hints, "a seccomp filter is active and may be the cause "+
			"(in Docker: --security-opt seccomp=unconfined)")
	case missing && e.Remedy == "":
		hints = append(hints, "this kernel does not have that system call, or was built without it")
	}
	return strings.Join(hints, "; ")
}

// Remedy returns the remedy for an error of a system call or a file that has none itself: a limit of this process is
// reached (getrlimit(2)), a privilege is missing, or /proc is not mounted. It returns "" for other errors.
func Remedy(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return "raise the limit on open files, RLIMIT_NOFILE (ulimit -n)"
	case errors.Is(err, syscall.EFBIG):
		return "raise the limit on the size of files, RLIMIT_FSIZE (ulimit -f)"
	case errors.Is(err, syscall.EAGAIN): // of fork(2)
		return "raise the limit on threads: RLIMIT_NPROC of the user (ulimit -u), or pids.max of the control group " +
			"(systemd: TasksMax; Docker: --pids-limit)"
	case errors.Is(err, syscall.ENOMEM):
		return "raise the limit on memory: RLIMIT_AS (ulimit -v), or RLIMIT_DATA (ulimit -d)"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOSYS):
		return (&Error{Err: err}).Hint()
	case errors.Is(err, fs.ErrNotExist) && !exists("/proc/self/status"):
		return "/proc is not there, or is empty: mount -t proc proc /proc"
	}
	return ""
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// seccompFiltered reports whether a system-call filter is active (mode 2, prctl(2)), from /proc/PID/status.
func seccompFiltered(status string) bool {
	mode, ok := statusField(status, "Seccomp")
	return ok && mode == "2"
}

// statusField returns a field of /proc/PID/status (proc_pid_status(5)) or /proc/PID/sched.
func statusField(status, name string) (string, bool) {
	for line := range strings.Lines(status) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}
