package linux

import (
	"time"

	"golang.org/x/sys/unix"
)

// Readable waits until a descriptor can be read without blocking, at most for a time, and reports whether it can (poll(2)): there is
// data, or the end. A FIFO that was opened without a writer has neither before its first writer writes or closes it.
func Readable(fd uintptr, atMost time.Duration) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int(atMost.Milliseconds()))
	if err == unix.EINTR {
		return false, nil
	}
	return n > 0, err
}
