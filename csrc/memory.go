package csrc

// #include "memory.h"
import "C"

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// MemoryOps lists the operations on arrays, in the order of gorun_memory_op, with the number of arrays that each reads or writes.
var MemoryOps = [...]struct {
	Name   string
	Arrays int
}{{"read", 1}, {"write", 1}, {"copy", 2}, {"triad", 3}}

// MemoryLine is the number of bytes that a loop moves at once: the lengths of slices are multiples of it.
const MemoryLine = C.GORUN_MEMORY_LINE * 8

// MemoryArgs are the arguments of one thread. The slices must stay where they are until Memory returns.
type MemoryArgs struct {
	Op          int               // index in MemoryOps
	Slices      [3]unsafe.Pointer // A, which is read or written, B and C, which are read; nil if the operation does not need it
	Bytes       uint64            // of each slice
	Factor      float64           // a = q; a = b + q c
	Nontemporal bool
	For         time.Duration // from the common start; 0: until Stop
	Pause       uint64        // turns of an empty loop after each KiB
	Gate        *Gate
	Stop        *Stop
}

// MemoryResult holds the measurements of one thread.
type MemoryResult struct {
	Bytes      uint64
	Start, End time.Duration // CLOCK_MONOTONIC
	Sum        float64       // of what was read
	CPU        int           // at the end; -1: not known
	Stopped    bool
}

// Memory reads or writes the slices on the calling thread, again and again.
func Memory(args MemoryArgs) (MemoryResult, error) {
	a := C.struct_gorun_memory_args{
		a: (*C.double)(args.Slices[0]), b: (*C.double)(args.Slices[1]), c: (*C.double)(args.Slices[2]), words: C.uint64_t(args.Bytes / 8),
		q: C.double(args.Factor), op: C.enum_gorun_memory_op(args.Op), nontemporal: C.bool(args.Nontemporal), ns: C.int64_t(args.For),
		pause: C.uint64_t(args.Pause), gate: args.Gate.pointer(), stop: args.Stop.pointer(),
	}
	r := C.struct_gorun_memory_result{}
	if code := C.gorun_memory(&a, &r); code != 0 {
		return MemoryResult{}, fmt.Errorf("memory in C: %w", syscall.Errno(-code))
	}
	return MemoryResult{
		Bytes: uint64(r.bytes), Start: time.Duration(r.start), End: time.Duration(r.end), Sum: float64(r.sum), CPU: int(r.cpu),
		Stopped: bool(r.stopped),
	}, nil
}

// MemoryKernel returns the name of the instructions that Memory uses on this CPU: "avx512", "avx2", "sse2", "neon".
func MemoryKernel() string { return C.GoString(C.gorun_memory_kernel()) }
