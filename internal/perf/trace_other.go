//go:build !linux

package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
)

// OpenTrace needs Linux.
func OpenTrace(tid int, _ []int, _ fs.FS) (*Trace, error) {
	return nil, fmt.Errorf("trace thread %d: %s has no perf_event_open: %w", tid, runtime.GOOS, errors.ErrUnsupported)
}
