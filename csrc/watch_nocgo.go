//go:build !cgo

package csrc

import "time"

// Watched is a thread that is watched.
type Watched struct{}

// NewWatched returns one that nothing looks at.
func NewWatched(int, bool) Watched { return Watched{} }

// Look does nothing: there are no kernels.
func (Watched) Look() {}

// Looks returns 0.
func (Watched) Looks() int { return 0 }

// Idle returns false.
func (Watched) Idle() bool { return false }

// Free does nothing.
func (Watched) Free() {}

// Watch is not in this build.
func Watch([]Watched, time.Duration, *Stop) (int, error) { return 0, errNoCgo }

// StopWatch does nothing.
func StopWatch(*Stop) {}
