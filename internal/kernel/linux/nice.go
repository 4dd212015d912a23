package linux

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// The range of nice values (sched(7)). A lower value gives the thread a larger share of its CPU.
const (
	MinNice = -20
	MaxNice = 19
)

// CheckNice returns an error if there is no such nice value.
func CheckNice(nice int) error {
	if nice < MinNice || nice > MaxNice {
		return fmt.Errorf("nice values go from %d to %d", MinNice, MaxNice)
	}
	return nil
}

// GetNice returns the nice value of a thread; TID 0 is the calling thread. On Linux each thread has its own.
func GetNice(tid int) (int, error) {
	// The raw call returns 20 − nice, to keep its answer positive (getpriority(2), "C library/kernel differences").
	raw, _, errno := unix.RawSyscall(unix.SYS_GETPRIORITY, unix.PRIO_PROCESS, uintptr(tid), 0)
	if errno != 0 {
		return 0, threadError(tid, "read nice", errno, "")
	}
	return 20 - int(raw), nil
}

// SetNice sets the nice value of a thread (setpriority(2)); TID 0 is the calling thread. Raising it is always allowed;
// lowering it needs a privilege. A value outside MinNice…MaxNice, which the kernel would clamp, is an error.
func SetNice(tid, nice int) error {
	if err := CheckNice(nice); err != nil {
		return fmt.Errorf("set nice %d: %w", nice, err)
	}
	_, _, errno := unix.RawSyscall(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, uintptr(tid), uintptr(nice))
	if errno == 0 {
		return nil
	}
	remedy := ""
	switch errno {
	case unix.EACCES:
		remedy = fmt.Sprintf("nice %d needs CAP_SYS_NICE or RLIMIT_NICE >= %d (ulimit -e %[2]d)", nice, 20-nice)
	case unix.EPERM:
		remedy = remedyOfOthers(tid)
	}
	return threadError(tid, fmt.Sprintf("set nice %d", nice), errno, remedy)
}
