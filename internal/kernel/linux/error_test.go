package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestErrorIsWhatTheKernelAnswered(t *testing.T) {
	var err error = fmt.Errorf("worker 3: %w", &Error{Op: "set nice -5", Err: syscall.EACCES, Remedy: "be root"})
	assert.EqualError(t, err, "worker 3: set nice -5: permission denied")
	assert.ErrorIs(t, err, fs.ErrPermission)
	assert.NotErrorIs(t, err, errors.ErrUnsupported)
	var hinter interface{ Hint() string }
	if assert.ErrorAs(t, err, &hinter) {
		assert.Contains(t, hinter.Hint(), "be root")
	}
	assert.ErrorIs(t, &Error{Op: "x", Err: syscall.ENOSYS}, errors.ErrUnsupported)
	assert.Empty(t, (&Error{Op: "x", Err: syscall.ESRCH}).Hint())
}

// A filter may be the cause if a privilege is missing, and also if the system call is.
func TestHintOfAFilter(t *testing.T) {
	const filtered = "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"
	const free = "Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t2\n"
	const filter = "a seccomp filter is active and may be the cause (in Docker: --security-opt seccomp=unconfined)"
	refusal := &Error{Op: "set nice -5", Err: syscall.EPERM, Remedy: "be root"}
	assert.Equal(t, "be root; "+filter, refusal.hint(filtered))
	assert.Equal(t, "be root", refusal.hint(free))
	missing := &Error{Op: "set the affinity", Err: syscall.ENOSYS}
	assert.Equal(t, filter, missing.hint(filtered))
	assert.Equal(t, "this kernel does not have that system call, or was built without it", missing.hint(free))
	assert.Empty(t, (&Error{Op: "x", Err: syscall.EINVAL}).hint(filtered))
}
