// Package linux wraps the system calls and the files of /proc that gorun needs: the CPUs, nice value, policy and memory of
// threads, the processes that descend from another one, usage, limits, clocks, locks of files, and NUMA balancing.
//
// A thread is identified by its TID; TID 0 is the calling thread, which changes unless the goroutine is locked to it
// (runtime.LockOSThread). A refusal by the kernel is an *Error, with a remedy if one is known.
package linux
