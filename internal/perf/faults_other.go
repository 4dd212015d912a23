//go:build !linux

package perf

import (
	"errors"
	"fmt"
	"runtime"
)

// OpenFaults needs Linux.
func OpenFaults() (*Faults, error) {
	return nil, fmt.Errorf("trace page faults: %s has no perf_event_open: %w", runtime.GOOS, errors.ErrUnsupported)
}
