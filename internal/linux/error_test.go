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

func TestSeccompFiltered(t *testing.T) {
	for text, want := range map[string]bool{
		"Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n": true,
		"Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t0\n": false,
		"Name:\tx\nSeccomp_filters:\t2\n":              false,
		"":                                             false,
	} {
		assert.Equal(t, want, seccompFiltered(text), "%q", text)
	}
}
