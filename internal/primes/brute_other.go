//go:build !amd64

package primes

// bruteSIMD are the brute method's kernels for this architecture.
var bruteSIMD []Kernel
