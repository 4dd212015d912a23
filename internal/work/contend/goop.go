package contend

import (
	"runtime"
	"sync/atomic"
	"time"

	"gorun/csrc"
	"gorun/internal/kernel/linux"
)

// goFAA adds 1 to the word n times: the loop of faa-go. It is unrolled by hand, as often as csrc's loops, since Go's
// compiler does not unroll.
func goFAA(word *uint64, n uint64) {
	for ; n >= 16; n -= 16 {
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
	}
	for ; n > 0; n-- {
		atomic.AddUint64(word, 1)
	}
}

// goOp is the operation whose loop is Go.
const goOp = "faa-go"

// goGate reimplements csrc's barrier and clock for the loop in Go.
type goGate struct {
	begun   time.Time // of the clock: the runtime's, which is CLOCK_MONOTONIC by the vDSO
	threads int32
	arrived atomic.Int32
	start   atomic.Int64 // ns; 0: not all have arrived
}

// headStart is the time between the last arrival and the common start, so that all threads see the start in time.
const headStart = 20 * time.Microsecond

func (g *goGate) reset(threads int) {
	g.begun, g.threads = time.Now(), int32(threads)
	g.arrived.Store(0)
	g.start.Store(0)
}

func (g *goGate) now() int64 { return int64(time.Since(g.begun)) }

// enter waits for all threads and then for the common start, and returns it.
func (g *goGate) enter(stop *csrc.Stop) int64 {
	if g.arrived.Add(1) == g.threads {
		g.start.Store(g.now() + int64(headStart))
	}
	for g.start.Load() == 0 && !stop.IsSet() {
		runtime.Gosched() // the last one may have to start on this CPU first
	}
	for g.now() < g.start.Load() && !stop.IsSet() { //nolint:revive // a spin
	}
	return g.start.Load()
}

// goChunk is the number of operations between two readings of the clock: some 5 µs alone and 30 µs with two competing
// CPUs, long against a reading of 40 ns.
const goChunk = 1024

// contend is csrc.Contend for the loop in Go.
func (g *goGate) contend(args csrc.ContendArgs) (out csrc.ContendResult, err error) {
	out.Origin = g.enter(args.Stop)
	word := (*uint64)(args.Word)
	end, next := out.Origin+int64(args.Time), out.Origin+int64(args.Window)
	out.Start = g.now()
	for !args.Stop.IsSet() {
		chunk := uint64(goChunk)
		if args.Count > 0 {
			chunk = min(chunk, args.Count-out.Operations)
		}
		goFAA(word, chunk)
		out.Operations += chunk
		if args.Count > 0 {
			if out.Operations == args.Count {
				break
			}
			continue
		}
		now := g.now()
		if now >= next {
			out.Marks = append(out.Marks, csrc.Mark{NS: now, CPUNS: linux.ThreadCPUTime(), Operations: out.Operations})
			next = now - (now-out.Origin)%int64(args.Window) + int64(args.Window)
		}
		if now >= end {
			break
		}
	}
	out.End = g.now()
	out.CPU, out.Stopped = linux.Getcpu(), args.Stop.IsSet()
	return out, nil
}
