package csrc

// #include "pair.h"
import "C"

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// PairWork is a kind of work that each process of a pair does.
type PairWork struct {
	Name, Usage string
	Talks       bool // two sides pass a turn to each other; a loop is a round trip
}

// Entry implements catalog.Entry.
func (w PairWork) Entry() (name, usage string) { return w.Name, w.Usage }

// Works lists the kinds of work, in the order of the C enumeration.
var Works = [...]PairWork{
	{"syscall", "calls getppid(2)", false},
	{"spin", "multiplies and adds, each operation depending on the previous one", false},
	{"sum", "adds the words of an array, repeatedly", false},
	{"pingpong-pipe", "passes a byte back and forth through two pipes", true},
	{"pingpong-futex", "passes a turn back and forth in shared memory, and sleeps while it waits (futex(2))", true},
	{"pingpong-shm", "passes a turn back and forth in shared memory, and spins while it waits", true},
}

// WorkArgs are the arguments of Work.
type WorkArgs struct {
	Work    string // a name of Works
	Loops   uint64
	Array   unsafe.Pointer // for sum: not Go memory, 8-byte aligned; Work fills it before the start
	Words   uint64         // 64-bit words in the array
	Cold    bool           // for sum: Work fills the array after the start, as a part of the work
	First   bool           // for two sides that talk: this one begins and measures
	In, Out int            // for pingpong-pipe: file descriptors
	Shared  *Shared        // nil: begin at once
}

// WorkResult describes the work of one process.
type WorkResult struct {
	Loops          uint64    // completed
	Sum            uint64    // sum of the words; for spin, its last value
	StartNS, EndNS int64     // CLOCK_MONOTONIC; 0: stopped before the start
	Trips          []Latency // of the first of two talking sides, ascending
	CPU            int       // at the end; -1: not known
	Stopped        bool
}

// Latency counts the round trips of about the same duration: exact below 512 ns, within 0.2% above.
type Latency struct {
	NS    float64
	Count uint64
}

// ChecksArgs give the expected CPUs of a process and the number of checks.
type ChecksArgs struct {
	CPUs   int      // greater than the highest possible CPU number
	Mask   []uint64 // the expected ones, 64 a word; nil: the CPU of the previous check
	Checks uint64
	Shared *Shared // nil: begin at once
}

// ChecksResult reports the CPUs on which the process ran instead.
type ChecksResult struct {
	Checks     uint64 // completed
	Deviations uint64
	Seen       map[int]uint64 // deviations by CPU
	Stopped    bool
}

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

// Wait waits for Open.
func (s *Shared) Wait() { C.gorun_shared_wait(s.c) }

// Stopped reports whether Stop was called.
func (s *Shared) Stopped() bool { return atomic.LoadInt32((*int32)(&s.c.stop)) != 0 }

// Waiting returns how often a process has come to wait for Open.
func (s *Shared) Waiting() int { return int(atomic.LoadInt32((*int32)(&s.c.waiting))) }

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
		checks: C.uint64_t(args.Checks), cpus: C.int(args.CPUs), shared: args.Shared.pointer(),
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
