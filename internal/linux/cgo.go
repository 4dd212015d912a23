//go:build cgo

package linux

// Cgo tells whether the program was built with cgo: threads are then pthreads, with a stack mapping each.
const Cgo = true
