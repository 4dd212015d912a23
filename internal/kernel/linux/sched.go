package linux

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Policy is a scheduling policy by the kernel's number (include/uapi/linux/sched.h).
type Policy int

// The policies. SchedDeadline can be read but not set: it has three parameters, and its affinity cannot be restricted.
const (
	SchedOther    Policy = 0
	SchedFIFO     Policy = 1
	SchedRR       Policy = 2
	SchedBatch    Policy = 3
	SchedIdle     Policy = 5
	SchedDeadline Policy = 6
)

// The priorities of the real-time policies, fifo and rr (sched(7)).
const (
	MinPriority = 1
	MaxPriority = 99
)

// Policies lists the policies, in the order of help and completion.
var Policies = [...]struct {
	Policy   Policy
	Name     string
	RealTime bool // has a priority from MinPriority to MaxPriority
	Settable bool
	Meaning  string
}{
	{SchedOther, "other", false, true, "the default: CPU time is shared fairly, weighted by nice"},
	{SchedBatch, "batch", false, true, "as other, for work that never waits"},
	{SchedIdle, "idle", false, true, "only CPU time that no other thread wants"},
	{SchedFIFO, "fifo", true, true, "real time: runs until it sleeps"},
	{SchedRR, "rr", true, true, "real time, in turns with threads of equal priority"},
	{SchedDeadline, "deadline", false, false, "a budget in every period"},
}

// PolicyUsages returns how each policy that can be set is written: "other", …, "fifo:P".
func PolicyUsages() []string {
	var usages []string
	for _, p := range Policies {
		if !p.Settable {
			continue
		}
		usage := p.Name
		if p.RealTime {
			usage += ":P"
		}
		usages = append(usages, usage)
	}
	return usages
}

// Sched is a thread's scheduling policy, with its priority where the policy is a real-time one.
type Sched struct {
	Policy   Policy
	Priority int // MinPriority…MaxPriority for fifo and rr, else 0
}

// String returns the policy in the form that ParseSched accepts.
func (s Sched) String() string {
	for _, p := range Policies {
		switch {
		case p.Policy != s.Policy:
		case p.RealTime:
			return p.Name + ":" + strconv.Itoa(s.Priority)
		default:
			return p.Name
		}
	}
	return "policy " + strconv.Itoa(int(s.Policy))
}

// ErrSched is wrapped by every error of ParseSched.
var ErrSched = errors.New("not a scheduling policy")

// ParseSched parses "other", "batch", "idle", "fifo:P" or "rr:P", with P from 1 to 99. Errors wrap ErrSched.
func ParseSched(text string) (Sched, error) {
	name, priority, hasPriority := strings.Cut(text, ":")
	for _, p := range Policies {
		switch {
		case p.Name != name:
			continue
		case !p.Settable:
			return Sched{}, fmt.Errorf("%w: %s can be read but not set", ErrSched, name)
		case !p.RealTime && hasPriority:
			return Sched{}, fmt.Errorf("%w: %s has no priority", ErrSched, name)
		case !p.RealTime:
			return Sched{Policy: p.Policy}, nil
		}
		n, err := strconv.ParseUint(priority, 10, 8)
		if err != nil || n < MinPriority || n > MaxPriority {
			return Sched{}, fmt.Errorf("%w: %s needs a priority from %d to %d, as in %[2]s:10",
				ErrSched, name, MinPriority, MaxPriority)
		}
		return Sched{p.Policy, int(n)}, nil
	}
	return Sched{}, fmt.Errorf("%w: %q (one of %s)", ErrSched, text, strings.Join(PolicyUsages(), ", "))
}

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
