package migrate

import "gorun/internal/column"

var columns = column.Join(column.Times, column.Switches, column.List{
	column.Figure(column.Column{Name: "relation", Lead: 1, Key: "relation", Meaning: "What the two CPUs share."},
		func(f *Figures) string { return f.Relation }),
	column.Figure(column.Column{Name: "cpu_a", Lead: 2, Key: "a", Meaning: "The CPU where the thread begins."},
		func(f *Figures) int { return f.CPUA }),
	column.Figure(column.Column{Name: "cpu_b", Lead: 3, Key: "b", Meaning: "The CPU that the thread moves to, and back from."},
		func(f *Figures) int { return f.CPUB }),
	column.Figure(column.Column{
		Name: "working_set_bytes", Label: "working set", Lead: 4, Key: "working_set", Unit: column.Bytes,
		Meaning: "The memory that the thread goes through.",
	}, func(f *Figures) uint64 { return f.WorkingSet }),
	column.Figure(column.Column{
		Name: "every_seconds", Label: "a move every", Lead: 5, Key: "every", Unit: column.Seconds,
		Meaning: "The time from a move to the next that was asked for.",
	}, func(f *Figures) float64 { return f.Every }),
	column.Figure(column.Column{Name: "access", Key: "access", Meaning: "How the thread goes through its memory."},
		func(f *Figures) string { return f.Access }),
	column.Figure(column.Column{
		Name: "moves", Unit: column.Count, Meaning: "The moves that were made; on the same CPU, the calls.",
	}, func(f *Figures) int { return f.Moves }),
	column.Figure(column.Column{
		Name: "accesses", Unit: column.Large, Meaning: "The accesses from the first move to the end.",
	}, func(f *Figures) uint64 { return f.Accesses }),
	perAccess,
	column.Figure(column.Column{
		Name: "steady_a_ns", Label: "steady access, first CPU", Unit: column.Nanoseconds, Better: column.Lower,
		Meaning: "The time of an access on the first CPU before the moves, with warm caches.",
	}, func(f *Figures) *float64 { return column.Some(f.SteadyA) }),
	column.Figure(column.Column{
		Name: "steady_b_ns", Label: "steady access, other CPU", Unit: column.Nanoseconds, Better: column.Lower,
		Meaning: "The time of an access on the other CPU before the moves, with warm caches.",
	}, func(f *Figures) *float64 { return column.Some(f.SteadyB) }),
	column.Figure(column.Column{
		Name: "call_seconds", Label: "a call that moves nothing", Unit: column.Seconds, Better: column.Lower,
		Meaning: "The time of sched_setaffinity(2) for the CPU that the thread is on: the median.",
	}, func(f *Figures) *float64 { return f.Call }),
	move,
	refillTime,
	refilled,
	cost,
	column.Figure(column.Column{
		Name: "memory_node", Label: "node of the memory", Meaning: "The node that most of the memory was on at the end, read back.",
	}, func(f *Figures) *int { return f.MemoryNode }),
})

// perAccess is the figure that cells are compared by.
var perAccess = column.Figure(column.Column{
	Name: "ns_per_access", Label: "an access", Lead: 6, Unit: column.Nanoseconds, Better: column.Lower, Bench: "access-ns/op",
	Meaning: "The time from the first move to the end, over the accesses: with the moves.",
}, func(f *Figures) *float64 { return column.Some(f.NS) })

// The parts of a move's cost: medians over the moves of a sample.
var (
	move = column.Figure(column.Column{
		Name: "move_seconds", Label: "a move", Unit: column.Seconds, Better: column.Lower, Bench: "move-ns/op",
		Meaning: "The time of sched_setaffinity(2) until the thread runs on the other CPU, less that of a call that moves nothing.",
	}, func(f *Figures) *float64 { return f.Move })
	refillTime = column.Figure(column.Column{
		Name: "refill_seconds", Label: "refill after a move", Unit: column.Seconds, Better: column.Lower, Bench: "refill-ns/op",
		Meaning: "How much longer the first passes over the working set take after a move than before the moves on the same CPU.",
	}, func(f *Figures) *float64 { return f.Refill })
	refilled = column.Figure(column.Column{
		Name: "refill_bytes", Label: "refilled", Unit: column.Bytes,
		Meaning: "How much of the working set was reached until passes were as fast as before the moves, or until the next move.",
	}, func(f *Figures) uint64 { return f.RefillBytes })
	cost = column.Figure(column.Column{
		Name: "cost_seconds", Label: "cost of a move", Unit: column.Seconds, Better: column.Lower, Bench: "cost-ns/op",
		Meaning: "The time that a move takes and that it adds to the accesses after it.",
	}, func(f *Figures) *float64 { return f.Cost })
)
