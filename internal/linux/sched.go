package linux

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
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
