package linux

import (
	"fmt"
	"math"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Monotonic returns the time of CLOCK_MONOTONIC: the same in every process of the system (clock_gettime(2)).
func Monotonic() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // every Linux has this clock
	return time.Duration(t.Nano())
}

// Suspended returns the time that the machine has been suspended since boot: the difference between CLOCK_BOOTTIME and
// CLOCK_MONOTONIC, which stops during a suspension (clock_gettime(2)). A thread may lose its CPU between the two
// readings, which is no suspension: so it reads them several times, and uses the two readings that are closest to each other.
func Suspended() (suspended time.Duration) {
	closest := time.Duration(math.MaxInt64)
	for range 10 {
		var boot unix.Timespec
		before := Monotonic()
		_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) // exists since Linux 2.6.39
		after := Monotonic()
		if apart := after - before; apart < closest {
			closest, suspended = apart, time.Duration(boot.Nano())-after
		}
	}
	return suspended
}

// SleepUntil returns when CLOCK_MONOTONIC has reached t (clock_nanosleep(2), TIMER_ABSTIME). The Go scheduler does not
// know that the thread sleeps: with GOMAXPROCS 1 no other goroutine runs during it, and no thread wakes to take over.
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

// ProcessCPUTime returns the CPU time of all threads of a process, including threads that have ended, to the nanosecond; PID 0
// is the calling process. It works for any process (clock_getcpuclockid(3)), in a fraction of a microsecond. The error of a
// process that has ended is one that Gone reports.
func ProcessCPUTime(pid int) (time.Duration, error) {
	const sched = 2 // CPUCLOCK_SCHED (include/linux/posix-timers_types.h): the PID's complement is above these 3 bits
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|sched, &t); err != nil {
		if err == unix.EINVAL { // the kernel's answer for a process that does not exist
			err = unix.ESRCH
		}
		return 0, &Error{Op: fmt.Sprintf("read the CPU time of process %d", pid), Err: err}
	}
	return time.Duration(t.Nano()), nil
}

// ThreadCPUTime returns the CPU time of the calling thread in nanoseconds (clock_gettime(2),
// CLOCK_THREAD_CPUTIME_ID); a system call of some 0.2 µs.
func ThreadCPUTime() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // every Linux has this clock
	return t.Nano()
}

// BootTicks returns the time since boot in clock ticks, 100 a second (USER_HZ), as in Task.Start.
func BootTicks() uint64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // exists since Linux 2.6.39
	return uint64(t.Nano()) / uint64(10*time.Millisecond)
}
