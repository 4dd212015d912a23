package csrc

import (
	"strings"
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
