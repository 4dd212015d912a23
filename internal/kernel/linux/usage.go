package linux

import (
	"cmp"
	"io/fs"
	"math"
	"syscall"

	"gorun/internal/kernel/sysfs"
)

// Usage is the resource usage of a process since its start, over all its threads including ended ones (getrusage(2)).
type Usage struct {
	UserSeconds         float64
	SystemSeconds       float64
	VoluntarySwitches   uint64 // a thread gave its CPU up to wait
	InvoluntarySwitches uint64 // a thread was taken off its CPU
	MinorFaults         uint64 // page faults without I/O
	MajorFaults         uint64 // page faults with I/O
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	u.UserSeconds += v.UserSeconds
	u.SystemSeconds += v.SystemSeconds
	u.VoluntarySwitches += v.VoluntarySwitches
	u.InvoluntarySwitches += v.InvoluntarySwitches
	u.MinorFaults += v.MinorFaults
	u.MajorFaults += v.MajorFaults
	return u
}

// Sub returns the usage between v and u.
func (u Usage) Sub(v Usage) Usage {
	u.UserSeconds = microseconds(u.UserSeconds - v.UserSeconds)
	u.SystemSeconds = microseconds(u.SystemSeconds - v.SystemSeconds)
	u.VoluntarySwitches -= v.VoluntarySwitches
	u.InvoluntarySwitches -= v.InvoluntarySwitches
	u.MinorFaults -= v.MinorFaults
	u.MajorFaults -= v.MajorFaults
	return u
}

// microseconds rounds seconds to the unit in which the kernel gives them: a difference has digits that were not measured.
func microseconds(seconds float64) float64 { return math.Round(seconds*1e6) / 1e6 }

// PeakRSS returns the peak resident memory of this process in bytes: VmHWM of /proc/self/status in fsys, which is
// rooted at /. The ru_maxrss of getrusage(2) cannot be used: it includes the memory before execve(2), which for a
// program that was just started is the size of its parent (fs/exec.c, exec_mmap).
func PeakRSS(fsys fs.FS) (uint64, error) {
	return sysfs.ReadKB(fsys, "proc/self/status", "VmHWM")
}

// ProcessUsage returns the usage of this process.
func ProcessUsage() (Usage, error) { return usage(syscall.RUSAGE_SELF, "this process") }

// CountUsage returns a function that returns the usage of this process since now.
func CountUsage() func() (Usage, error) {
	before, unread := ProcessUsage()
	return func() (Usage, error) {
		after, err := ProcessUsage()
		return after.Sub(before), cmp.Or(unread, err)
	}
}

// ChildrenUsage returns the usage of this process's descendants that have ended and were waited for.
func ChildrenUsage() (Usage, error) { return usage(syscall.RUSAGE_CHILDREN, "children") }

// CPUSeconds returns the CPU time of this process and of its descendants that have ended and were waited for.
func CPUSeconds() (float64, error) {
	own, err := ProcessUsage()
	children, unread := ChildrenUsage()
	all := own.Add(children)
	return all.UserSeconds + all.SystemSeconds, cmp.Or(err, unread)
}

func usage(who int, of string) (Usage, error) {
	var ru syscall.Rusage
	if err := syscall.Getrusage(who, &ru); err != nil {
		return Usage{}, &Error{Op: "read the usage of " + of, Err: err}
	}
	return UsageOf(ru), nil
}

// UsageOf returns the usage that the kernel reports of a process.
func UsageOf(ru syscall.Rusage) Usage {
	seconds := func(t syscall.Timeval) float64 { return float64(t.Nano()) / 1e9 }
	return Usage{
		UserSeconds:         seconds(ru.Utime),
		SystemSeconds:       seconds(ru.Stime),
		VoluntarySwitches:   uint64(ru.Nvcsw),
		InvoluntarySwitches: uint64(ru.Nivcsw),
		MinorFaults:         uint64(ru.Minflt),
		MajorFaults:         uint64(ru.Majflt),
	}
}
