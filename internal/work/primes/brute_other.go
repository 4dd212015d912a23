//go:build !amd64

package primes

// bruteSIMD lists the brute method's kernels for this architecture.
var bruteSIMD []Kernel
