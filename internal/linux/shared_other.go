//go:build !linux

package linux

import "os"

// Memfd needs Linux.
func Memfd(string, int) (*os.File, error) { return nil, unsupported("make a file in memory") }

// MapShared needs Linux.
func MapShared(*os.File, int) ([]byte, error) { return nil, unsupported("map shared memory") }

// UnmapShared needs Linux.
func UnmapShared([]byte) error { return unsupported("unmap shared memory") }
