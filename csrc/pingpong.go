package csrc

/*
#include "pingpong.h"
*/
import "C"

import (
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// PingPongArgs are the arguments of one of the two threads that pass a cache line back and forth.
type PingPongArgs struct {
	Method  string         // one of PingPongMethods, the same for both
	First   bool           // this thread passes first and measures; the other ends with it
	Line    unsafe.Pointer // 16 bytes, zero, aligned to 64 and better to 128; not Go memory
	Time    time.Duration  // from the common start; extended until one batch is complete
	BatchNS int64          // time that a batch of round trips should take
	Gate    *Gate          // may be nil
	Stop    *Stop          // may be nil
}

// PingPongResult holds the measurements of one thread.
type PingPongResult struct {
	Batches            []float64 // mean ns of a round trip in each batch; of the first thread only
	RoundTripsPerBatch uint64
	RoundTrips         uint64 // of this thread, including the ones to find RoundTripsPerBatch
	CPU                int    // at the end; -1: not known
	Stopped            bool   // by the flag
}

// PingPongMethods lists the methods of passing the line, in the order of the C table.
func PingPongMethods() []string { return slices.Clone(methods()) }

var methods = sync.OnceValue(func() (list []string) {
	for {
		name := C.gorun_pingpong_method(C.int(len(list)))
		if name == nil {
			return list
		}
		list = append(list, C.GoString(name))
	}
})

// maxBatches limits the batches to 128 MiB of memory.
const maxBatches = 1 << 24

// PingPong passes a cache line back and forth with another thread that also calls it. The first thread measures for
// Time, and both end within 10 ms of Stop.
func PingPong(args PingPongArgs) (PingPongResult, error) {
	method := slices.Index(methods(), args.Method)
	if method < 0 {
		return PingPongResult{}, fmt.Errorf("no method %q of handing a cache line over", args.Method)
	}
	var batches []C.double
	if args.First && args.Time > 0 && args.BatchNS > 0 {
		// A batch takes at least BatchNS unless the CPUs became faster, so room for twice the expected number is
		// enough.
		most := 2 * (int64(args.Time)/args.BatchNS + 1)
		if most > maxBatches {
			return PingPongResult{}, fmt.Errorf("%v in batches of %d ns: more than %d", args.Time, args.BatchNS, maxBatches/2)
		}
		batches = make([]C.double, most)
	}
	a := C.struct_gorun_pingpong_args{
		method: C.int(method), first: C.bool(args.First), line: (*C.struct_gorun_line)(args.Line),
		time: C.int64_t(args.Time), batch: C.int64_t(args.BatchNS), capacity: C.uint64_t(len(batches)),
		gate: args.Gate.pointer(), stop: args.Stop.pointer(),
	}
	r := C.struct_gorun_pingpong_result{}
	if code := C.gorun_pingpong(&a, unsafe.SliceData(batches), &r); code != 0 {
		return PingPongResult{}, fmt.Errorf("handing over by %s in C: %w", args.Method, syscall.Errno(-code))
	}
	result := PingPongResult{
		RoundTripsPerBatch: uint64(r.trips_per_batch), RoundTrips: uint64(r.trips),
		CPU: int(r.cpu), Stopped: bool(r.stopped),
	}
	for _, ns := range batches[:r.batches] {
		result.Batches = append(result.Batches, float64(ns))
	}
	return result, nil
}
