package csrc

// #include "probe.h"
import "C"

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"
)

// ProbeLine is the distance between two links of a chase in bytes: a cache line.
const ProbeLine = 64

const chase = "chase"

// ProbeAccesses lists the access patterns of the probe; the last one accesses no memory.
var ProbeAccesses = [...]struct{ Name, Usage string }{
	{"random", "reads and writes a word at a random index"},
	{"sequential", "reads and writes each word in turn"},
	{chase, "reads the address of the next read: one random cycle through all cache lines, which measures latency alone"},
	{"index", "generates the indices of random without accessing memory: the generator's own time"},
}

// MemoryAccesses returns the names of the accesses that access memory.
func MemoryAccesses() []string {
	var names []string
	for _, access := range ProbeAccesses[:len(ProbeAccesses)-1] {
		names = append(names, access.Name)
	}
	return names
}

// ProbeArgs describe the accesses to make. The same arguments give the same sequence of accesses.
type ProbeArgs struct {
	Access   string         // a name of ProbeAccesses
	Buffer   unsafe.Pointer // 8-byte aligned; index needs none
	Words    uint64         // 64-bit words in the buffer: 1…2^60; chase: at least 8, one line
	Accesses uint64
	From     uint64 // where the walk begins: 0, or Next of the previous call
	Seed     uint64
	Stop     *Stop // may be nil
	Moves    int   // limit of CPU changes to keep, including the first CPU; 0: the CPU is not read
}

// ProbeResult describes the accesses until the probe ended or was stopped.
type ProbeResult struct {
	Accesses uint64
	NS       int64  // duration of the accesses, in nanoseconds
	Sum      uint64 // index: sum of the indices; chase: the last line; others: 0
	Next     uint64 // From of a call that continues from here
	Moves    []Move // CPUs that the probe ran on, read every 4096 accesses or lines
	Lost     uint64 // moves that were not kept
}

// Move reports that the probe runs on a CPU, from this time after its start.
type Move struct {
	NS  int64
	CPU int // -1: unknown
}

type (
	cProbeArgs   = C.struct_gorun_probe_args
	cProbeResult = C.struct_gorun_probe_result
)

// probes maps each access of ProbeAccesses to its C functions.
var probes = map[string]struct {
	prepare func(*cProbeArgs) C.int
	run     func(*cProbeArgs, *cProbeResult) C.int
}{
	"random": {
		func(a *cProbeArgs) C.int { return C.gorun_probe_fill(a) },
		func(a *cProbeArgs, r *cProbeResult) C.int { return C.gorun_probe_random(a, r) },
	},
	"sequential": {
		func(a *cProbeArgs) C.int { return C.gorun_probe_fill(a) },
		func(a *cProbeArgs, r *cProbeResult) C.int { return C.gorun_probe_sequential(a, r) },
	},
	"chase": {
		func(a *cProbeArgs) C.int { return C.gorun_probe_link(a) },
		func(a *cProbeArgs, r *cProbeResult) C.int { return C.gorun_probe_chase(a, r) },
	},
	"index": {
		func(*cProbeArgs) C.int { return 0 },
		func(a *cProbeArgs, r *cProbeResult) C.int { return C.gorun_probe_index(a, r) },
	},
}

// ProbePrepare fills the whole buffer for the access: with zeros, or for chase with the links. The thread that writes
// first determines the node of the pages. A stopped call leaves the buffer unprepared and is an error (EINTR).
func ProbePrepare(args ProbeArgs) error {
	probe, ok := probes[args.Access]
	if !ok {
		return fmt.Errorf("probe has no access %q", args.Access)
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinner.Pin(args.Buffer)
	a := args.c()
	return probeError("prepare", args.Access, probe.prepare(&a))
}

// Probe accesses a buffer that ProbePrepare has prepared for the same access.
func Probe(args ProbeArgs) (ProbeResult, error) {
	probe, ok := probes[args.Access]
	if !ok {
		return ProbeResult{}, fmt.Errorf("probe has no access %q", args.Access)
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinner.Pin(args.Buffer)
	a, r := args.c(), cProbeResult{}
	moves := make([]C.struct_gorun_probe_move, max(args.Moves, 0))
	if len(moves) > 0 {
		pinner.Pin(&moves[0])
		a.moves, a.moves_size = &moves[0], C.uint64_t(len(moves))
	}
	if err := probeError("run", args.Access, probe.run(&a, &r)); err != nil {
		return ProbeResult{}, err
	}
	result := ProbeResult{Accesses: uint64(r.accesses), NS: int64(r.ns), Sum: uint64(r.sum)}
	result.Next = args.From + result.Accesses
	if args.Access == chase {
		result.Next = result.Sum
	}
	kept := min(uint64(r.moves), uint64(len(moves)))
	result.Lost = uint64(r.moves) - kept
	for _, m := range moves[:kept] {
		result.Moves = append(result.Moves, Move{int64(m.ns), int(m.cpu)})
	}
	return result, nil
}

func (a ProbeArgs) c() cProbeArgs {
	return cProbeArgs{
		buffer:   (*C.uint64_t)(a.Buffer),
		words:    C.uint64_t(a.Words),
		accesses: C.uint64_t(a.Accesses),
		from:     C.uint64_t(a.From),
		seed:     C.uint64_t(a.Seed),
		stop:     a.Stop.pointer(),
	}
}

func probeError(what, access string, code C.int) error {
	if code != 0 {
		return fmt.Errorf("%s the probe of %s accesses: %w", what, access, syscall.Errno(-code))
	}
	return nil
}
