package linux

import "golang.org/x/sys/unix"

// ProcessUsage returns the usage of this process.
func ProcessUsage() (Usage, error) {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return Usage{}, &Error{Op: "read the usage of this process", Err: err}
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
