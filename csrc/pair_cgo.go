//go:build cgo

package csrc

// #include "pair.h"
import "C"

import (
	"fmt"
	"syscall"
	"unsafe"
)

// SharedBytes is the size of a Shared.
const SharedBytes = C.sizeof_struct_gorun_shared

// Shared is memory that lets processes start together, stop together and pass a turn to each other.
type Shared struct{ c *C.struct_gorun_shared }

// SharedAt uses the SharedBytes at p, in a page that the processes share: zeroed, aligned to 128 bytes, and not Go
// memory.
func SharedAt(p unsafe.Pointer) *Shared { return &Shared{(*C.struct_gorun_shared)(p)} }

// Open releases all that wait, and all that arrive later.
func (s *Shared) Open() { C.gorun_shared_open(s.c) }

// Stop ends all calls that use s within some milliseconds. With a pipe, one side ends when the other has closed its
// end.
func (s *Shared) Stop() { C.gorun_shared_stop(s.c) }

// StartNS returns the time when s was opened (CLOCK_MONOTONIC).
func (s *Shared) StartNS() int64 { return int64(s.c.start) }

func (s *Shared) pointer() *C.struct_gorun_shared {
	if s == nil {
		return nil
	}
	return s.c
}

// Work waits for Open and works, on the calling thread.
func Work(args WorkArgs) (WorkResult, error) {
	work := 0
	for work < len(Works) && Works[work].Name != args.Work {
		work++
	}
	if work == len(Works) {
		return WorkResult{}, fmt.Errorf("no work %q", args.Work)
	}
	var histogram []C.uint64_t
	if args.First && Works[work].Talks {
		histogram = make([]C.uint64_t, C.GORUN_BUCKETS)
	}
	a := C.struct_gorun_work_args{
		work: C.enum_gorun_work(work), loops: C.uint64_t(args.Loops), array: (*C.uint64_t)(args.Array), cold: C.bool(args.Cold),
		words: C.uint64_t(args.Words), first: C.bool(args.First), in: C.int(args.In), out: C.int(args.Out),
		shared: args.Shared.pointer(),
	}
	r := C.struct_gorun_work_result{}
	if code := C.gorun_work(&a, unsafe.SliceData(histogram), &r); code != 0 {
		return WorkResult{}, fmt.Errorf("work %s in C: %w", args.Work, syscall.Errno(-code))
	}
	result := WorkResult{
		Loops: uint64(r.loops), Sum: uint64(r.sum), StartNS: int64(r.start), EndNS: int64(r.end),
		CPU: int(r.cpu), Stopped: bool(r.stopped),
	}
	for i, count := range histogram {
		if count > 0 {
			result.Trips = append(result.Trips, Latency{bucketNS(i), uint64(count)})
		}
	}
	return result, nil
}

// bucketNS returns the middle of a bucket's range.
func bucketNS(bucket int) float64 {
	if bucket < 2*C.GORUN_STEPS {
		return float64(bucket)
	}
	shift := bucket/C.GORUN_STEPS - 1
	least, width := uint64(bucket-shift*C.GORUN_STEPS)<<shift, uint64(1)<<shift
	return float64(least) + float64(width-1)/2
}

// Checks waits for Open and checks repeatedly which CPU the calling thread is on.
func Checks(args ChecksArgs) (ChecksResult, error) {
	seen := make([]C.uint64_t, args.CPUs)
	a := C.struct_gorun_checks_args{
		cpu: C.int(args.CPU), checks: C.uint64_t(args.Checks), cpus: C.int(args.CPUs), shared: args.Shared.pointer(),
		mask_words: C.int(len(args.Mask)),
	}
	mask := (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(args.Mask)))
	r := C.struct_gorun_checks_result{}
	if code := C.gorun_checks(&a, mask, unsafe.SliceData(seen), &r); code != 0 {
		return ChecksResult{}, fmt.Errorf("looking for the CPU in C: %w", syscall.Errno(-code))
	}
	result := ChecksResult{
		Checks: uint64(r.checks), Deviations: uint64(r.deviations), Seen: map[int]uint64{}, Stopped: bool(r.stopped),
	}
	for cpu, count := range seen {
		if count > 0 {
			result.Seen[cpu] = uint64(count)
		}
	}
	return result, nil
}
