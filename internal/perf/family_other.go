//go:build !linux

package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
)

// OpenFamily needs Linux.
func OpenFamily(_ []int, _ fs.FS) (*Family, error) {
	return nil, fmt.Errorf("trace processes: %s has no perf_event_open: %w", runtime.GOOS, errors.ErrUnsupported)
}
