// Package linux holds the kernel's doors that placement needs: which CPU and thread the caller runs on, affinity, nice,
// scheduling policy, the process's usage, and what bounds its number of threads.
//
// A thread is named by its TID; TID 0 is the calling thread, which is only steady for a goroutine that is locked to it
// (runtime.LockOSThread). What the kernel refuses is an *Error, with a remedy where there is one. On other systems
// every function that would ask the kernel returns an error that wraps errors.ErrUnsupported.
package linux
