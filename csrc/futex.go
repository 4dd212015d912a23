package csrc

// #include "futex.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"syscall"
	"unsafe"
)

// WakeupsArgs are the arguments of one of two threads that wake each other.
type WakeupsArgs struct {
	First bool   // this thread wakes first; the other one sleeps first
	Trips uint64 // number of times that it sleeps, and wakes the other one
	Futex *WakeFutex
}

// WakeupsResult holds the measurements of one thread.
type WakeupsResult struct {
	NS      []float64 // one value per wake-up of this thread
	CPU     int       // at the end; -1: not known
	Stopped bool
}

// WakeFutex is the futex on which two threads sleep in turns. It is in C memory.
type WakeFutex struct{ c *C.struct_gorun_wake_futex }

// NewWakeFutex returns a WakeFutex for a single call of Wakeups by each thread. Free it when no thread uses it any more.
func NewWakeFutex() *WakeFutex {
	return &WakeFutex{(*C.struct_gorun_wake_futex)(C.calloc(1, C.sizeof_struct_gorun_wake_futex))}
}

// Stop ends Wakeups of both threads within about a millisecond.
func (b *WakeFutex) Stop() { C.gorun_wake_futex_stop(b.c) }

// Free releases b.
func (b *WakeFutex) Free() { C.free(unsafe.Pointer(b.c)) }

// Wakeups makes the calling thread and a second thread that also calls it wake each other from futex(2) in turns.
// After an error the other thread waits until Stop.
func Wakeups(args WakeupsArgs) (WakeupsResult, error) {
	ns := make([]float64, args.Trips)
	a := C.struct_gorun_wakeups_args{first: C.bool(args.First), trips: C.uint64_t(args.Trips), shared: args.Futex.c}
	r := C.struct_gorun_wakeups_result{}
	if code := C.gorun_wakeups(&a, (*C.double)(unsafe.SliceData(ns)), &r); code != 0 {
		return WakeupsResult{}, fmt.Errorf("waking in C: %w", syscall.Errno(-code))
	}
	return WakeupsResult{NS: ns[:r.wakeups], CPU: int(r.cpu), Stopped: bool(r.stopped)}, nil
}
