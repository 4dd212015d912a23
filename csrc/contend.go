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

// Identifier returns what C calls the operation of that name: "cas_loop" for "cas-loop".
func Identifier(name string) string { return strings.NewReplacer("+", "_", "-", "_").Replace(name) }

// ContendArgs say which operation is made, on what, and for how long.
type ContendArgs struct {
	Op      string
	Variant string         // "": the best that the CPU has; operations that have one way only take any
	Word    unsafe.Pointer // of 8 bytes, or as many as the memset takes; aligned to 8; not Go memory
	Count   uint64         // operations to make; 0: by Time
	Time    time.Duration  // from the common start
	Window  time.Duration  // that Time is cut into; below 500 µs the clock's readings take over 0.1% of it
	Gate    *Gate          // may be nil
	Stop    *Stop          // may be nil
}

// Mark is a thread's totals at the first reading of the clock after the end of a window. Windows are counted from
// Origin; one that ended while the thread did not run has no mark.
type Mark struct {
	NS         int64 // CLOCK_MONOTONIC
	CPUNS      int64 // CLOCK_THREAD_CPUTIME_ID
	Operations uint64
	Failures   uint64
}

// ContendResult is what a thread did. Its times are CLOCK_MONOTONIC in nanoseconds.
type ContendResult struct {
	Operations uint64
	Failures   uint64 // compare-and-swaps that found another value, or on arm64 lost the line before they stored
	Start, End int64  // of the first operation, and after the last
	Origin     int64  // the common start; 0 when stopped before it
	Marks      []Mark // of Time
	CPU        int    // at the end; -1: not known
	Stopped    bool   // before all was done
}
