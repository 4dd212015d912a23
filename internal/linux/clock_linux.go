package linux

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Monotonic is the time of CLOCK_MONOTONIC: the same in every process of the system (clock_gettime(2)).
func Monotonic() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // every Linux has this clock
	return time.Duration(t.Nano())
}

// Suspended is how long the machine has been suspended since it was started: by how much CLOCK_BOOTTIME is before
// CLOCK_MONOTONIC, which stands still meanwhile (clock_gettime(2)).
func Suspended() time.Duration {
	var boot unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) // there since Linux 2.6.39
	return time.Duration(boot.Nano()) - Monotonic()
}

// SleepUntil returns when CLOCK_MONOTONIC has come to t (clock_nanosleep(2), TIMER_ABSTIME). The Go scheduler does not
// hear of it: with GOMAXPROCS 1 nothing else of the process runs meanwhile, and nothing wakes to look after it.
func SleepUntil(t time.Duration) error {
	deadline := unix.NsecToTimespec(int64(t))
	for {
		_, _, errno := unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME,
			uintptr(unsafe.Pointer(&deadline)), 0, 0, 0)
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return &Error{Op: "sleep", Err: errno}
		}
	}
}

// ProcessCPUTime is the CPU time that all threads of a process have used, to the nanosecond; PID 0 is the calling
// process. It may be any process (clock_getcpuclockid(3)), and takes a fraction of a microsecond.
func ProcessCPUTime(pid int) (time.Duration, error) {
	const sched = 2 // CPUCLOCK_SCHED (include/linux/posix-timers_types.h): the PID's complement is above these 3 bits
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|sched, &t); err != nil {
		if err == unix.EINVAL { // what the kernel says of a process that does not exist
			err = unix.ESRCH
		}
		return 0, &Error{Op: fmt.Sprintf("read the CPU time of process %d", pid), Err: err}
	}
	return time.Duration(t.Nano()), nil
}
