package csrc

// #include "migrate.h"
import "C"

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
	"unsafe"
)

// MigrateArgs are the arguments of Migrate: the moves of a thread between two CPUs, and its work there.
type MigrateArgs struct {
	Probe ProbeArgs // the accesses: a buffer prepared by ProbePrepare; Accesses, From and Moves are ignored
	CPUs  [2]int    // targets of the moves, in turn; both may be the same CPU
	Moves int
	Every time.Duration // from the start of one move to the start of the next; at least one piece is in between

	Pass   uint64 // accesses on each CPU before the moves, to fill its caches
	Piece  uint64 // accesses per timed piece
	Batch  uint64 // accesses at once after the timed pieces
	Pieces int    // timed pieces after each move
	Steady int    // timed pieces on each CPU before the moves
	Calls  int    // timed calls on each CPU before the moves; each requests the current CPU
}

// MigrateResult holds the measurements of a thread. Times are in nanoseconds.
type MigrateResult struct {
	Moves     []float64    // one per move: from the call until the thread runs on the other CPU
	Pieces    [][]float64  // for each move, the timed pieces after it: as many as there was time for
	Steady    [2][]float64 // the timed pieces on each CPU before the moves
	Calls     [2][]float64 // the timed calls on each CPU before the moves
	Accesses  uint64       // made since the first move
	NS        int64        // duration of these accesses, including the moves
	Next      uint64       // ProbeArgs.From of a call that continues from here
	Looks     uint64       // checks of the current CPU: after each move, and before the next one
	Elsewhere uint64       // checks that found another CPU than the requested one
	Asked     int          // the requested CPU of the first such check
	Seen      int          // the CPU found instead; -1: unknown
	Stopped   bool
}

// walks maps each access of ProbeAccesses to its C function.
var walks = map[string]*C.gorun_walk_fn{
	"random":     (*C.gorun_walk_fn)(C.gorun_probe_random),
	"sequential": (*C.gorun_walk_fn)(C.gorun_probe_sequential),
	chase:        (*C.gorun_walk_fn)(C.gorun_probe_chase),
	"index":      (*C.gorun_walk_fn)(C.gorun_probe_index),
}

// Migrate moves the calling thread, to which the goroutine must be locked, and leaves it on the last CPU.
func Migrate(args MigrateArgs) (r MigrateResult, err error) {
	walk, ok := walks[args.Probe.Access]
	if !ok {
		return r, fmt.Errorf("probe has no access %q", args.Probe.Access)
	}
	if args.Moves < 1 || args.Pieces < 1 || args.Steady < 1 || args.Calls < 1 {
		return r, fmt.Errorf("set the affinity to CPUs %d,%d in turns: %w", args.CPUs[0], args.CPUs[1], syscall.EINVAL)
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinner.Pin(args.Probe.Buffer)
	a := C.struct_gorun_migrate_args{
		walk: walk, chase: C.bool(args.Probe.Access == chase), probe: args.Probe.c(),
		cpus: [2]C.int{C.int(args.CPUs[0]), C.int(args.CPUs[1])}, moves: C.uint64_t(args.Moves),
		every: C.int64_t(args.Every.Nanoseconds()), pass: C.uint64_t(args.Pass), piece: C.uint64_t(args.Piece),
		batch: C.uint64_t(args.Batch), pieces: C.uint64_t(args.Pieces), steady: C.uint64_t(args.Steady),
		calls: C.uint64_t(args.Calls),
	}
	times := func(n int) (all []float64, first *C.double) {
		all = slices.Repeat([]float64{notMeasured}, n)
		pinner.Pin(unsafe.SliceData(all))
		return all, (*C.double)(unsafe.SliceData(all))
	}
	var to C.struct_gorun_migrate_times
	var move, piece, steady, call []float64
	move, to.move = times(args.Moves)
	piece, to.piece = times(args.Moves * args.Pieces)
	steady, to.steady = times(2 * args.Steady)
	call, to.call = times(2 * args.Calls)
	var is C.struct_gorun_migrate_result
	if code := C.gorun_migrate(&a, &to, &is); code != 0 {
		return r, fmt.Errorf("set the affinity to CPUs %d,%d in turns: %w", args.CPUs[0], args.CPUs[1], syscall.Errno(-code))
	}
	r = MigrateResult{
		Moves: move[:is.moves], Accesses: uint64(is.accesses), NS: int64(is.ns), Next: uint64(is.next), Looks: uint64(is.looks),
		Elsewhere: uint64(is.elsewhere), Asked: int(is.asked), Seen: int(is.seen), Stopped: bool(is.stopped),
	}
	for i := range r.Moves {
		r.Pieces = append(r.Pieces, measured(piece[i*args.Pieces:][:args.Pieces]))
	}
	for side := range r.Steady {
		r.Steady[side] = measured(steady[side*args.Steady:][:args.Steady])
		r.Calls[side] = measured(call[side*args.Calls:][:args.Calls])
	}
	return r, nil
}

// notMeasured stands for a time that was not measured.
const notMeasured = -1

// measured returns the times before the first missing one.
func measured(times []float64) []float64 {
	if i := slices.Index(times, notMeasured); i >= 0 {
		return times[:i]
	}
	return times
}
