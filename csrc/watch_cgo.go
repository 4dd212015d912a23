//go:build cgo

package csrc

// #include "watch.h"
// #include <stdlib.h>
import "C"

import (
	"time"
	"unsafe"
)

// Watched is a thread that is watched. It lies in C memory.
type Watched struct{ c *C.struct_gorun_watched }

// NewWatched returns a thread of any process, of which the affinity is watched, and its policy and nice value where
// attributes says so. Free it when no watch uses it any more.
func NewWatched(tid int, attributes bool) Watched {
	w := Watched{(*C.struct_gorun_watched)(C.calloc(1, C.sizeof_struct_gorun_watched))}
	w.c.tid, w.c.attributes = C.int32_t(tid), C.bool(attributes)
	return w
}

// Look reads what the thread has: what differs from it is a change from then on.
func (w Watched) Look() { C.gorun_watched_look(w.c) }

// Looks returns how often Watch has looked at the thread.
func (w Watched) Looks() int { return int(w.c.looks) }

// Idle reports whether the process that the thread is the main thread of has used no CPU time between the last two
// looks, so that what changed between them is not its own doing.
func (w Watched) Idle() bool { return bool(w.c.idle) }

// Free releases w.
func (w Watched) Free() { C.free(unsafe.Pointer(w.c)) }

// Watch looks at threads every period, and returns the place of the first that has changed; -1 after StopWatch.
func Watch(threads []Watched, period time.Duration, stop *Stop) (changed int, err error) {
	list := (**C.struct_gorun_watched)(unsafe.Pointer(unsafe.SliceData(threads)))
	return int(C.gorun_watch(list, C.size_t(len(threads)), C.int64_t(period), stop.pointer())), nil
}

// StopWatch ends the watch that was given the flag, at once.
func StopWatch(s *Stop) { C.gorun_watch_stop(s.pointer()) }
