package linux

import "golang.org/x/sys/unix"

// ProcessUsage returns the usage of this process.
func ProcessUsage() (Usage, error) { return usage(unix.RUSAGE_SELF, "this process") }

// ChildrenUsage returns the usage of this process's descendants that have ended and were waited for.
func ChildrenUsage() (Usage, error) { return usage(unix.RUSAGE_CHILDREN, "children") }

func usage(who int, of string) (Usage, error) {
	var ru unix.Rusage
	if err := unix.Getrusage(who, &ru); err != nil {
		return Usage{}, &Error{Op: "read the usage of " + of, Err: err}
	}
	return Usage{
		UserSeconds:         seconds(ru.Utime),
		SystemSeconds:       seconds(ru.Stime),
		VoluntarySwitches:   uint64(ru.Nvcsw),
		InvoluntarySwitches: uint64(ru.Nivcsw),
		MinorFaults:         uint64(ru.Minflt),
		MajorFaults:         uint64(ru.Majflt),
	}, nil
}

func seconds(t unix.Timeval) float64 { return float64(t.Nano()) / 1e9 }
