//go:build !linux

package perf

import (
	"errors"
	"fmt"
	"runtime"
)

// OpenSoftware needs Linux.
func OpenSoftware(event Event) (*Counter, error) {
	return nil, fmt.Errorf("count %v: %s has no perf_event_open: %w", event, runtime.GOOS, errors.ErrUnsupported)
}
