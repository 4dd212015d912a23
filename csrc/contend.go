package csrc

/*
#include <stdlib.h>
#include "contend.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Op is an operation whose loop this build has.
type Op struct {
	Name    string // the Identifier of the operation's name
	Variant string // "lse" or "llsc" where arm64 has both, else ""
	Symbol  string // the C function that is the loop: what to disassemble
}

// Identifier returns the C identifier of the operation with that name: "cas_loop" for "cas-loop".
func Identifier(name string) string { return strings.NewReplacer("+", "_", "-", "_").Replace(name) }

// ContendArgs name the operation to repeat, the memory that it works on, and how long to repeat it.
type ContendArgs struct {
	Op      string
	Variant string         // "": the best that the CPU has; ignored by operations with a single variant
	Word    unsafe.Pointer // 8 bytes, or the size of the memset; aligned to 8; not Go memory
	Count   uint64         // operations to make; 0: run for Time
	Time    time.Duration  // from the common start
	Window  time.Duration  // the interval of the marks; if below 500 µs, reading the clock takes over 0.1% of it
	Gate    *Gate          // may be nil
	Stop    *Stop          // may be nil
}

// Mark holds a thread's totals at its first reading of the clock after the end of a window. Windows are counted from
// Origin; a window that ended while the thread was not running has no mark.
type Mark struct {
	NS         int64 // CLOCK_MONOTONIC
	CPUNS      int64 // CLOCK_THREAD_CPUTIME_ID
	Operations uint64
	Failures   uint64
}

// ContendResult describes the work of one thread. Its times are CLOCK_MONOTONIC in nanoseconds.
type ContendResult struct {
	Operations uint64
	Failures   uint64 // compare-and-swaps that found another value or, on arm64, lost the line before they stored
	Start, End int64  // before the first operation, and after the last
	Origin     int64  // the common start; 0 when stopped before it
	Marks      []Mark // of Time
	CPU        int    // at the end; -1: not known
	Stopped    bool   // before all was done
}

// Gate releases threads at the same time. It is in C memory, on cache lines that hold nothing else.
type Gate struct{ c *C.struct_gorun_gate }

// NewGate returns a gate that opens once, when that number of threads has arrived. Free it when no kernel uses it any
// more.
func NewGate(threads int) *Gate {
	g := &Gate{(*C.struct_gorun_gate)(C.calloc(1, C.sizeof_struct_gorun_gate))}
	g.Reset(threads)
	return g
}

// Reset closes g again for the next threads. The previous ones must have passed.
func (g *Gate) Reset(threads int) { *g.c = C.struct_gorun_gate{threads: C.uint32_t(threads)} }

// Free releases g.
func (g *Gate) Free() { C.free(unsafe.Pointer(g.c)) }

func (g *Gate) pointer() *C.struct_gorun_gate {
	if g == nil {
		return nil
	}
	return g.c
}

// HasLSE reports whether this is an arm64 CPU with the atomics of Armv8.1.
func HasLSE() bool { return bool(C.gorun_has_lse()) }

// Ops lists the operations of this build, in the order of the C table; on an architecture without loops there are none.
func Ops() []Op { return slices.Clone(ops()) }

// ops reads the table once. C identifies an operation by the index of its row.
var ops = sync.OnceValue(func() (list []Op) {
	for {
		row := C.gorun_op(C.int(len(list)))
		if row == nil {
			return list
		}
		list = append(list, Op{C.GoString(row.name), C.GoString(row.variant), C.GoString(row.symbol)})
	}
})

// row returns the index of an operation, found by its user-facing name or by its C identifier.
func row(name, variant string) (int, error) {
	absent := fmt.Errorf("not on this architecture (%s): %w", runtime.GOARCH, errors.ErrUnsupported)
	if len(ops()) == 0 {
		return 0, fmt.Errorf("operation %s: %w", name, absent)
	}
	if variant != "" && !slices.ContainsFunc(ops(), func(o Op) bool { return o.Variant == variant }) {
		return 0, fmt.Errorf("variant %s: %w", variant, absent)
	}
	if variant == "lse" && !HasLSE() {
		return 0, fmt.Errorf("variant lse: this CPU has no LSE atomics: %w", errors.ErrUnsupported)
	}
	if variant == "" {
		variant = "llsc"
		if HasLSE() {
			variant = "lse"
		}
	}
	i := slices.IndexFunc(ops(), func(o Op) bool {
		return o.Name == Identifier(name) && (o.Variant == "" || o.Variant == variant)
	})
	if i < 0 {
		return 0, fmt.Errorf("no operation %q on %s", name, runtime.GOARCH)
	}
	return i, nil
}

// maxWindows limits a thread's marks to 512 MiB of memory.
const maxWindows = 1 << 24

// Contend repeats an operation on the calling thread. It begins when the gate opens, and ends within 10 ms of Stop.
func Contend(args ContendArgs) (ContendResult, error) {
	op, err := row(args.Op, args.Variant)
	if err != nil {
		return ContendResult{}, err
	}
	a := C.struct_gorun_contend_args{
		op: C.int(op), word: args.Word, count: C.uint64_t(args.Count), time: C.int64_t(args.Time),
		window: C.int64_t(args.Window), gate: args.Gate.pointer(), stop: args.Stop.pointer(),
	}
	var marks []C.struct_gorun_mark
	if args.Count == 0 && args.Time > 0 && args.Window > 0 {
		if args.Time/args.Window > maxWindows {
			return ContendResult{}, fmt.Errorf("%v in windows of %v: more than %d windows", args.Time, args.Window, maxWindows)
		}
		marks = make([]C.struct_gorun_mark, args.Time/args.Window)
	}
	r := C.struct_gorun_contend_result{}
	if code := C.gorun_contend(&a, unsafe.SliceData(marks), &r); code != 0 {
		return ContendResult{}, fmt.Errorf("operation %s in C: %w", args.Op, syscall.Errno(-code))
	}
	result := ContendResult{
		Operations: uint64(r.operations), Failures: uint64(r.failures),
		Start: int64(r.start), End: int64(r.end), Origin: int64(r.origin), CPU: int(r.cpu), Stopped: bool(r.stopped),
	}
	for _, m := range marks[:r.marks] {
		result.Marks = append(result.Marks, Mark{int64(m.ns), int64(m.cpu_ns), uint64(m.operations), uint64(m.failures)})
	}
	return result, nil
}
