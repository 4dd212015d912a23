package futex

import "gorun/internal/column"

var columns = column.Join(column.Times, column.Switches, column.Workers, column.List{
	column.Figure(column.Column{Name: "cpu_a", Meaning: "The CPU of one thread."}, func(f *Figures) int { return f.CPUA }),
	column.Figure(column.Column{Name: "cpu_b", Meaning: "The CPU of the other thread."},
		func(f *Figures) int { return f.CPUB }),
	column.Figure(column.Column{Name: "relation", Meaning: "What the two CPUs share."},
		func(f *Figures) string { return f.Relation }),
	column.Figure(column.Column{
		Name: "round_trips", Unit: column.Large, Meaning: "The round trips in which both threads were woken.",
	}, func(f *Figures) int { return f.RoundTrips }),
	wake,
	column.Figure(column.Column{
		Name: "wake_p99_ns", Unit: column.Nanoseconds, Better: column.Lower, Bench: "wake-p99-ns",
		Meaning: "The time that 99 of 100 wake-ups do not exceed.",
	}, func(f *Figures) *float64 { return column.Some(f.WakeP99NS) }),
})

// wake is the column by which cells are compared.
var wake = column.Figure(column.Column{
	Name: "wake_ns", Unit: column.Nanoseconds, Better: column.Lower, Bench: "wake-ns",
	Meaning: "The median time of a wake-up, of both threads.",
}, func(f *Figures) *float64 { return column.Some(f.WakeNS) })
