package csrc

/*
#cgo CFLAGS: -std=gnu11 -O2 -D_GNU_SOURCE
#include <stdlib.h>
#include <stdint.h>

#ifdef __clang__
#define COMPILER __VERSION__ // begins with its name
#else
#define COMPILER "gcc " __VERSION__
#endif
*/
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// Compiler returns the name and the version of the C compiler that built the kernels.
func Compiler() string { return C.COMPILER }

// Stop asks running kernels to end. It is in C memory, so that a kernel may keep a pointer to it.
type Stop struct{ flag *atomic.Int32 }

// NewStop returns a flag that is not set. Free it when no kernel uses it any more.
func NewStop() *Stop {
	return &Stop{(*atomic.Int32)(C.calloc(1, C.sizeof_int32_t))} // cgo's calloc never returns NULL
}

// Set ends every kernel that was given s within about a millisecond.
func (s *Stop) Set() { s.flag.Store(1) }

// IsSet reports whether kernels are to end.
func (s *Stop) IsSet() bool { return s.flag.Load() != 0 }

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
