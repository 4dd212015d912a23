//go:build !linux

package linux

import "time"

// Monotonic returns 0: only functions that need Linux use it.
func Monotonic() time.Duration { return 0 }

// SleepUntil needs Linux.
func SleepUntil(time.Duration) error { return unsupported("sleep until a time") }

// ProcessCPUTime needs Linux.
func ProcessCPUTime(int) (time.Duration, error) {
	return 0, unsupported("read the CPU time of a process")
}

// Suspended returns 0: only Linux reports it.
func Suspended() time.Duration { return 0 }
