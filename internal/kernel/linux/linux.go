// Package linux wraps the kernel interfaces that placement needs: the CPU and thread of the caller, affinity, nice,
// scheduling policy, memory, the usage of a process, and the limits on its number of threads.
//
// A thread is identified by its TID; TID 0 is the calling thread, which changes unless the goroutine is locked to it
// (runtime.LockOSThread). A refusal by the kernel is an *Error, with a remedy if one is known.
package linux
