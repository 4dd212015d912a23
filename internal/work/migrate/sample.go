package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"

	"gorun/csrc"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
)

// Figures are the figures of a sample. The parts of a move's cost are medians over its moves.
type Figures struct {
	Relation   string  `json:"relation" figure:",csv=1,key=relation" is:"What the two CPUs share."`
	CPUA       int     `json:"cpu_a" figure:",csv=2,key=a" is:"The CPU where the thread begins."`
	CPUB       int     `json:"cpu_b" figure:",csv=3,key=b" is:"The CPU that the thread moves to, and back from."`
	WorkingSet uint64  `json:"working_set_bytes" figure:"B,csv=4,key=working_set" label:"working set" is:"The memory that the thread goes through."`
	Every      float64 `json:"every_seconds" figure:"s,csv=5,key=every" label:"a move every" is:"The time from a move to the next that was asked for."`
	Access     string  `json:"access" figure:",key=access" is:"How the thread goes through its memory."`
	Moves      int     `json:"moves" figure:"count" is:"The moves that were made; on the same CPU, the calls."`
	Accesses   uint64  `json:"accesses" figure:"number" is:"The accesses from the first move to the end."`
	NS         float64 `json:"ns_per_access,omitempty" figure:"ns,lower,csv=6,bench=access-ns/op" label:"an access" is:"The time from the first move to the end, over the accesses: with the moves."`
	SteadyA    float64 `json:"steady_a_ns,omitempty" figure:"ns,lower" label:"steady access, first CPU" is:"The time of an access on the first CPU before the moves, with warm caches."`
	SteadyB    float64 `json:"steady_b_ns,omitempty" figure:"ns,lower" label:"steady access, other CPU" is:"The time of an access on the other CPU before the moves, with warm caches."`

	Call        *float64 `json:"call_seconds,omitempty" figure:"s,lower" label:"a call that moves nothing" is:"The time of sched_setaffinity(2) for the CPU that the thread is on: the median."`
	Move        *float64 `json:"move_seconds,omitempty" figure:"s,lower,bench=move-ns/op,rank=1" label:"a move" is:"The time of sched_setaffinity(2) until the thread runs on the other CPU, less that of a call that moves nothing."`
	Refill      *float64 `json:"refill_seconds,omitempty" figure:"s,lower,bench=refill-ns/op,rank=2" label:"refill" is:"How much longer the first passes over the working set take after a move than before the moves on the same CPU."`
	RefillBytes uint64   `json:"refill_bytes" figure:"B" label:"refilled" is:"How much of the working set was reached until passes were as fast as before the moves, or until the next move."`
	Cost        *float64 `json:"cost_seconds,omitempty" figure:"s,lower,bench=cost-ns/op,rank=3" label:"cost" is:"The time that a move takes and that it adds to the accesses after it."`
	CostShare   *float64 `json:"cost_share,omitempty" figure:"share,lower,rank=4" label:"of the time" is:"The cost of a move over the time from a move to the next."`

	MemoryNode *int `json:"memory_node,omitempty" label:"node of the memory" is:"The node that most of the memory was on at the end, read back."`
}

var (
	columns   = column.Join(column.Times, column.Switches, column.Of[Figures]())
	perAccess = columns.Get("ns_per_access") // by which cells are compared
)

// How accesses are timed.
const (
	pieceLines  = 1024  // cache lines of a piece, or the whole working set: some 1 to 100 us
	batch       = 16384 // accesses at once of a small working set, once it is warm
	timedPasses = 4     // after each move: of a random walk, the fourth finds nearly every line warm
	leastSteady = 64    // pieces
	mostSteady  = 256   // pieces
	mostTimed   = 1 << 20
	calls       = 16 // on each CPU
)

// sample takes a sample, with a fresh thread and fresh memory.
func sample(ctx context.Context, _ experiment.Environment, c Cell) (s result.Sample, err error) {
	stop := csrc.NewStop()
	defer stop.Free()
	defer measure.Until(ctx, stop.Set)()
	err = measure.Timed(&s, func() error {
		return placement.OnThread(func() error { return c.run(&s, stop) })
	})
	if err != nil {
		return s, cmp.Or(ctx.Err(), err) // it may have been stopped before its first move
	}
	s.Placement.Requested = fmt.Sprintf("a thread pinned to CPUs %d and %d in turns", c.A, c.B)
	return s, nil
}

// run is all that the calling thread does.
func (c Cell) run(s *result.Sample, stop *csrc.Stop) (err error) {
	setting := placement.Setting{CPUs: cpuset.Of(c.A)}
	if err := setting.Apply(0); err != nil {
		return err
	}
	node := -1
	if c.MemNode != nil {
		node = *c.MemNode
	}
	area, err := linux.NewArea(linux.AreaOptions{Bytes: int(c.WorkingSet), Node: node})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, area.Free()) }()
	args := c.args()
	args.Probe.Buffer, args.Probe.Stop = area.Pointer(), stop
	if err := csrc.ProbePrepare(args.Probe); err != nil {
		return err
	}
	before, unknown := area.Nodes()
	r, err := csrc.Migrate(args)
	if err != nil {
		return err
	}
	after, err := area.Nodes()
	if s.Partial = r.Stopped; len(r.Moves) == 0 {
		return errors.New("stopped before the first move")
	}
	v := c.figures(r)
	checkCPUs(s, r)
	c.checkNodes(s, &v, before, after, cmp.Or(unknown, err))
	s.Values = result.FiguresOf(&v)
	return nil
}

// args say what the thread does. Pieces of random accesses reach most of their cache lines.
func (c Cell) args() csrc.MigrateArgs {
	lines, each := c.WorkingSet/csrc.ProbeLine, perLine[c.Access]
	piece, pieces := min(lines, pieceLines), c.pieces()
	return csrc.MigrateArgs{
		Probe: csrc.ProbeArgs{Access: c.Access, Words: c.WorkingSet / 8, Seed: c.Seed},
		CPUs:  [2]int{c.A, c.B}, Moves: c.Moves, Every: c.Every,
		Pass: lines * each, Piece: piece * each, Batch: max(piece*each, batch),
		Pieces: max(1, min(timedPasses*pieces, mostTimed/c.Moves)), Steady: min(max(pieces, leastSteady), mostSteady),
		Calls: calls,
	}
}

// pieces returns the number of pieces in a pass over the working set.
func (c Cell) pieces() int {
	lines := c.WorkingSet / csrc.ProbeLine
	return int((lines + pieceLines - 1) / pieceLines)
}

// checkCPUs adds what was read back of the thread's CPU after each move, and before the next one.
func checkCPUs(s *result.Sample, r csrc.MigrateResult) {
	s.Placement.Add(int(r.Looks), nil)
	if r.Elsewhere > 0 {
		s.Placement.Add(0, []string{fmt.Sprintf("the thread was on CPU %d and was asked to CPU %d, in %d of %d looks", r.Seen,
			r.Asked, r.Elsewhere, r.Looks)})
	}
}

// checkNodes reads back whether the memory is on the node that was asked for, and has not moved since the first touch.
func (c Cell) checkNodes(s *result.Sample, v *Figures, before, after map[int]int, unknown error) {
	if unknown != nil {
		if c.MemNode != nil && !errors.Is(unknown, errors.ErrUnsupported) { // a kernel without NUMA has one node
			s.Doubt(result.Suspect, "the memory's node is not known: %v", unknown)
		}
		return
	}
	node, pages := -1, 0
	for is, n := range after {
		if n > pages {
			node, pages = is, n
		}
	}
	if node >= 0 {
		v.MemoryNode = &node
	}
	if c.MemNode != nil {
		all := after[*c.MemNode] == int(c.WorkingSet)/os.Getpagesize()
		s.Placement.Check(all, "not all of the memory is on node %d, as was asked", *c.MemNode)
	}
	if !maps.Equal(before, after) {
		s.Doubt(result.Suspect, "the kernel moved some of the memory to another node meanwhile")
	}
}
