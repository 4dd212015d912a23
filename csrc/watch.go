package csrc

// #include "watch.h"
// #include <stdlib.h>
import "C"

import (
	"time"
	"unsafe"
)

// Watched is a thread to watch. It is in C memory.
type Watched struct{ c *C.struct_gorun_watched }

// NewWatched returns a thread of any process whose affinity is watched and, with attributes, its policy and nice value
// too. Free it when no watch uses it any more.
func NewWatched(tid int, attributes bool) Watched {
	w := Watched{(*C.struct_gorun_watched)(C.calloc(1, C.sizeof_struct_gorun_watched))}
	w.c.tid, w.c.attributes = C.int32_t(tid), C.bool(attributes)
	return w
}

// Look reads the thread's present settings, with which Watch compares the later ones.
func (w Watched) Look() { C.gorun_watched_look(w.c) }

// Looks returns the number of times that Watch has looked at the thread.
func (w Watched) Looks() int { return int(w.c.looks) }

// Idle reports whether the thread's process used no CPU time between the last two looks, so that it did not make a
// change itself. It is known only for a main thread.
func (w Watched) Idle() bool { return bool(w.c.idle) }

// Free releases w.
func (w Watched) Free() { C.free(unsafe.Pointer(w.c)) }

// Watch looks at threads every period, and returns the index of the first that has changed; -1 after StopWatch.
func Watch(threads []Watched, period time.Duration, stop *Stop) (changed int) {
	list := (**C.struct_gorun_watched)(unsafe.Pointer(unsafe.SliceData(threads)))
	return int(C.gorun_watch(list, C.size_t(len(threads)), C.int64_t(period), stop.pointer()))
}

// StopWatch immediately ends the Watch that was given the flag.
func StopWatch(s *Stop) { C.gorun_watch_stop(s.pointer()) }
