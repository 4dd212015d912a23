package c2c

import (
	"gorun/internal/column"
	"gorun/internal/result"
)

var columns = column.Join(
	column.List{
		column.Figure(column.Column{Name: "cpu_a", Lead: 1, Key: "a", Meaning: "One CPU of the pair."},
			func(p *Figures) int { return p.CPUA }),
		column.Figure(column.Column{Name: "cpu_b", Lead: 2, Key: "b", Meaning: "The other CPU of the pair."},
			func(p *Figures) int { return p.CPUB }),
		column.Figure(column.Column{Name: "relation", Lead: 3, Key: "relation", Meaning: "What the two CPUs share."},
			func(p *Figures) string { return p.Relation }),
		column.Figure(column.Column{Name: "method", Key: "method", Meaning: "The method of passing the cache line."},
			func(p *Figures) string { return p.Method }),
		oneWay,
		column.Figure(column.Column{
			Name: "round_trip_ns", Lead: 5, Unit: column.Nanoseconds, Better: column.Lower, Bench: "round-trip-ns/op",
			Meaning: "The time of the cache line's round trip.",
		}, func(p *Figures) float64 { return p.RoundTripNS }),
		column.Figure(column.Column{Name: "node_a", Lead: 6, Meaning: "The node of the first CPU."},
			func(p *Figures) int { return p.NodeA }),
		column.Figure(column.Column{Name: "node_b", Lead: 7, Meaning: "The node of the second CPU."},
			func(p *Figures) int { return p.NodeB }),
		column.Figure(column.Column{Name: "mem_node", Meaning: "The requested node of the cache line; none: the node from which its first CPU first touches it."},
			func(p *Figures) *int { return p.MemNode }),
		column.Figure(column.Column{Name: "home_node", Lead: 8, Meaning: "The node of the cache line's page, read back."},
			func(p *Figures) *int { return p.HomeNode }),
		column.Figure(column.Column{Name: "batches", Unit: column.Count, Meaning: "The batches of round trips that were timed."},
			func(p *Figures) int { return p.Batches }),
		column.Figure(column.Column{
			Name: "round_trips", Unit: column.Large, Repeats: true, Meaning: "The round trips in all batches.",
		}, func(p *Figures) uint64 { return p.RoundTrips }),
		column.MemoryPeak("", func(p *Figures) result.OwnProcess { return p.OwnProcess }),
	},
	column.Distribution(column.Column{
		Name: "one_way_ns", Unit: column.Nanoseconds, Better: column.Lower, Meaning: "The time one way, over the batches",
	}, func(p *Figures) *result.Distribution { return &p.OneWay }),
)

// oneWay is the column by which cells are compared.
var oneWay = column.Figure(column.Column{
	Name: "ns", Label: "time one way", Lead: 4, Unit: column.Nanoseconds, Better: column.Lower, Bench: "ns/op",
	Meaning: "The time that the cache line takes from one CPU to the other: the median over the batches.",
}, func(p *Figures) float64 { return p.NS })
