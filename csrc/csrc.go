//go:build cgo

// Package csrc holds gorun's C code, in one directory with the cgo bindings, so that plain `go build` and `go install`
// compile it. Each kernel is a plain function: it takes its arguments in one struct, writes its results to another, and
// returns a negative errno on failure. A flag in C memory stops it. It starts no thread, prints nothing and keeps no
// state.
//
// Without cgo every function returns an error that wraps errors.ErrUnsupported.
package csrc

/*
#cgo CFLAGS: -std=gnu11 -O2 -D_GNU_SOURCE
#include <stdlib.h>
#include "primes.h"
*/
import "C"

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Stop asks running kernels to end. It is in C memory, so that a kernel may keep a pointer to it.
type Stop struct{ flag *atomic.Int32 }

// NewStop returns a flag that is not set. Free it when no kernel uses it any more.
func NewStop() *Stop {
	return &Stop{(*atomic.Int32)(C.calloc(1, C.sizeof_int32_t))} // cgo's calloc never returns NULL
}

// Set ends every kernel that was given s within about a millisecond.
func (s *Stop) Set() { s.flag.Store(1) }

// Clear undoes Set.
func (s *Stop) Clear() { s.flag.Store(0) }

// Free releases s.
func (s *Stop) Free() { C.free(unsafe.Pointer(s.flag)) }

func (s *Stop) pointer() *C.int32_t {
	if s == nil {
		return nil
	}
	return (*C.int32_t)(unsafe.Pointer(s.flag))
}

// Modulo counts all divisors of each number by `n % i` on signed 64-bit integers: the original program's loop.
func Modulo(args PrimeArgs) (PrimeResult, error) {
	a, r := args.c(), C.struct_gorun_primes_result{}
	return primeResult("modulo", C.gorun_modulo(&a, &r), r)
}

// Trial divides each number by 2 and the odd numbers up to its square root, until it finds a divisor.
func Trial(args PrimeArgs) (PrimeResult, error) {
	a, r := args.c(), C.struct_gorun_primes_result{}
	return primeResult("trial", C.gorun_trial(&a, &r), r)
}

// Brute counts all divisors of each number by reciprocals. Numbers must be below 2^32; it allocates 8 bytes per
// divisor.
func Brute(args PrimeArgs) (PrimeResult, error) {
	a, r := args.c(), C.struct_gorun_primes_result{}
	return primeResult("brute", C.gorun_brute(&a, &r), r)
}

func (a PrimeArgs) c() C.struct_gorun_primes_args {
	return C.struct_gorun_primes_args{
		first: C.uint64_t(a.First),
		step:  C.uint64_t(a.Step),
		count: C.uint64_t(a.Count),
		stop:  a.Stop.pointer(),
	}
}

func primeResult(loop string, code C.int, r C.struct_gorun_primes_result) (PrimeResult, error) {
	if code != 0 {
		return PrimeResult{}, fmt.Errorf("loop %s in C: %w", loop, syscall.Errno(-code))
	}
	return PrimeResult{uint64(r.numbers), uint64(r.primes), uint64(r.trials)}, nil
}
