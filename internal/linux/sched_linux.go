package linux

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// GetSched returns the scheduling policy of a thread (sched_getscheduler(2), sched_getparam(2)); TID 0 is the calling
// thread.
func GetSched(tid int) (Sched, error) {
	policy, err := readPolicy(tid)
	if err != nil {
		return Sched{}, err
	}
	s := Sched{Policy: Policy(policy &^ unix.SCHED_RESET_ON_FORK)}
	if s.Policy != SchedFIFO && s.Policy != SchedRR {
		return s, nil
	}
	var priority int32 // struct sched_param
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETPARAM, uintptr(tid), uintptr(unsafe.Pointer(&priority)), 0)
	if errno != 0 {
		return Sched{}, threadError(tid, "read the priority", errno, "")
	}
	s.Priority = int(priority)
	return s, nil
}

// SetSched sets the scheduling policy of a thread (sched_setscheduler(2)); TID 0 is the calling thread. It keeps the
// nice value and the reset-on-fork flag: clearing the flag would need a privilege, so it must not be set by accident.
func SetSched(tid int, s Sched) error {
	if s.Policy == SchedDeadline {
		return threadError(tid, "set the policy deadline", unix.EINVAL, "deadline can be read but not set")
	}
	is, err := readPolicy(tid)
	if err != nil {
		return err
	}
	policy := uintptr(s.Policy) | uintptr(is&unix.SCHED_RESET_ON_FORK)
	priority := int32(s.Priority)
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER,
		uintptr(tid), policy, uintptr(unsafe.Pointer(&priority)))
	if errno == 0 {
		return nil
	}
	remedy := ""
	switch {
	case errno == unix.EPERM && s.Priority > 0:
		remedy = fmt.Sprintf("%v needs CAP_SYS_NICE or RLIMIT_RTPRIO >= %d (ulimit -r %[2]d), and a real-time "+
			"budget in its cgroup (cpu.rt_runtime_us)", s, s.Priority)
	case errno == unix.EPERM:
		remedy = fmt.Sprintf("from %v to %v needs CAP_SYS_NICE, or RLIMIT_NICE for the thread's nice value (ulimit -e)",
			Sched{Policy: Policy(is &^ unix.SCHED_RESET_ON_FORK)}, s)
	}
	return threadError(tid, fmt.Sprintf("set the policy %v", s), errno, remedy)
}

// readPolicy returns the number of a thread's policy, including the flag SCHED_RESET_ON_FORK.
func readPolicy(tid int) (int, error) {
	policy, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(tid), 0, 0)
	if errno != 0 {
		return 0, threadError(tid, "read the policy", errno, "")
	}
	return int(policy), nil
}
