//go:build cgo

package linux

// Cgo reports whether the program was built with cgo: threads are then pthreads, each with a mapping for its stack.
const Cgo = true
