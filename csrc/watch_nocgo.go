//go:build !cgo

package csrc

import "time"

// Watched is a thread to watch.
type Watched struct{}

// NewWatched returns a thread that is not watched.
func NewWatched(int, bool) Watched { return Watched{} }

// Look does nothing: there are no kernels.
func (Watched) Look() {}

// Looks returns 0.
func (Watched) Looks() int { return 0 }

// Idle returns false.
func (Watched) Idle() bool { return false }

// Free does nothing.
func (Watched) Free() {}

// Watch returns an error: this build has no C code.
func Watch([]Watched, time.Duration, *Stop) (int, error) { return 0, errNoCgo }

// StopWatch does nothing.
func StopWatch(*Stop) {}
