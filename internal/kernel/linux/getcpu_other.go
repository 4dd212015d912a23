//go:build !amd64

package linux

// Getcpu returns the CPU that the calling thread runs on, by getcpu(2); -1 if that system call is forbidden. The thread
// may be moved before the caller uses the result, unless it is pinned.
func Getcpu() int { return getcpuCall() }
