package pair

import (
	"gorun/internal/column"
	"gorun/internal/result"
)

var columns = column.List{
	column.Figure(column.Column{Name: "work", Lead: 4, Key: "work", Meaning: "What each process does."},
		func(p *Figures) string { return p.Work }),
	column.Figure(column.Column{Name: "cpu_a", Lead: 1, Key: "a", Meaning: "The CPU of process A."},
		func(p *Figures) int { return p.CPUA }),
	column.Figure(column.Column{Name: "cpu_b", Lead: 2, Key: "b", Meaning: "The CPU of process B."},
		func(p *Figures) int { return p.CPUB }),
	column.Figure(column.Column{Name: "relation", Lead: 3, Key: "relation", Meaning: "What the two CPUs share."},
		func(p *Figures) string { return p.Relation }),
	column.Figure(column.Column{
		Name: "loops", Lead: 5, Unit: column.Large, Repeats: true,
		Meaning: "The requested loops of each process, or the round trips of two that exchange messages.",
	}, func(p *Figures) uint64 { return p.Loops }),
	perLoop,
	cpuPerLoop,
	column.Figure(column.Column{
		Name: "calls_per_second", Lead: 6, Unit: column.PerSecond, Better: column.Higher, Bench: "calls/s",
		Meaning: "The loops per second of both processes; a round trip counts once.",
	}, func(p *Figures) float64 { return p.CallsPerSecond }),
	trip("p50", "p50-ns", "The median time of a round trip.", func(p *Percentiles) *float64 { return &p.P50 }),
	trip("p90", "", "The time that 90 of 100 round trips do not exceed.",
		func(p *Percentiles) *float64 { return &p.P90 }),
	trip("p99", "p99-ns", "The time that 99 of 100 round trips do not exceed.",
		func(p *Percentiles) *float64 { return &p.P99 }),
	trip("p99_9", "p99.9-ns", "The time that 999 of 1000 round trips do not exceed.",
		func(p *Percentiles) *float64 { return &p.P999 }),
}

// perLoop is the column by which cells are compared.
var perLoop = column.Figure(column.Column{
	Name: "ns_per_loop", Lead: 7, Unit: column.Nanoseconds, Better: column.Lower, Bench: "ns/op",
	Meaning: "The wall time divided by the loops of one process.",
}, func(p *Figures) float64 { return p.NsPerLoop })

// cpuPerLoop is judged as well: two processes that take turns on one CPU cost wall time but hardly any CPU time.
var cpuPerLoop = column.Derived(column.Column{
	Name: "cpu_ns_per_loop", Label: "CPU time", Unit: column.Nanoseconds, Better: column.Lower, Hidden: true,
	Meaning: "The CPU time of both processes divided by the loops of one.",
}, func(s *result.Sample) *float64 {
	p, ok := result.Typed[Figures](s)
	if !ok || p.Loops == 0 {
		return nil
	}
	return column.Some(1e9 * s.CPUSeconds() / float64(p.Loops))
})

func trip(name, bench, meaning string, of func(*Percentiles) *float64) column.Column {
	return column.Figure(column.Column{
		Name: "round_trip_" + name + "_ns", Unit: column.Nanoseconds, Better: column.Lower, Bench: bench, Meaning: meaning,
	}, func(p *Figures) *float64 {
		if p.RoundTrip == nil {
			return nil
		}
		return of(p.RoundTrip)
	})
}
