package bind

import "gorun/internal/column"

// columns are the columns of a trial.
var columns = column.Join(column.Times, column.List{
	column.Figure(column.Column{Name: "bound", Meaning: "Whether the processes are bound to CPUs."},
		func(b *Figures) bool { return b.Bound }),
	column.Figure(column.Column{
		Name: "checks", Unit: column.Large, Meaning: "The processes' checks of their CPU.",
	}, func(b *Figures) uint64 { return b.Checks }),
	column.Figure(column.Column{
		Name: "deviations", Unit: column.Large, Better: column.Lower,
		Meaning: "The checks that found another CPU than the bound one or, unbound, than the previous check.",
	}, func(b *Figures) uint64 { return b.Deviations }),
	column.Figure(column.Column{Name: "array_bytes", Unit: column.Bytes, Meaning: "The size of the array of each process."},
		func(b *Figures) uint64 { return b.ArrayBytes }),
	column.Figure(column.Column{Name: "passes", Unit: column.Count, Meaning: "The number of times that each process sums its array."},
		func(b *Figures) uint64 { return b.Passes }),
})

// partColumns are the columns of a process of a trial.
var partColumns = column.List{
	column.Figure(column.Column{Name: "bound", Lead: 3, Key: "bound", Meaning: "Whether the process is bound to a CPU."},
		func(p *part) bool { return p.Bound }),
	column.Figure(column.Column{Name: "process", Lead: 1, Key: "process", Meaning: "The number of the process, from 0."},
		func(p *part) int { return p.Process }),
	column.Figure(column.Column{
		Name: "cpu", Lead: 4, Key: "cpu", Words: map[string]string{"-1": "any"},
		Meaning: "The CPU that it is bound to; -1: none, or several.",
	}, func(p *part) int { return p.CPU }),
	column.Figure(column.Column{Name: "cpus", Meaning: "The CPUs that it is bound to."}, func(p *part) string { return p.CPUs }),
	column.Figure(column.Column{Name: "trial", Lead: 2, Meaning: "The number of the trial, from 0."},
		func(p *part) int { return p.Trial }),
	column.Wall,
	column.Figure(column.Column{
		Name: "checks", Lead: 6, Unit: column.Large, Meaning: "The process's checks of its CPU.",
	}, func(p *part) uint64 { return p.Checks }),
	column.Figure(column.Column{
		Name: "deviations", Lead: 5, Unit: column.Large, Bench: "deviations/op",
		Meaning: "The checks that found another CPU than the bound one or, unbound, than the previous check.",
	}, func(p *part) uint64 { return p.Deviations }),
	column.Each(column.Column{Name: "moved_to", Unit: column.Large, Meaning: "The deviations, by the CPU that it was on."},
		func(p *part) map[string]uint64 { return p.MovedTo }),
	column.Figure(column.Column{Name: "array_bytes", Lead: 7, Unit: column.Bytes, Meaning: "The size of its array."},
		func(p *part) uint64 { return p.ArrayBytes }),
	column.Figure(column.Column{Name: "passes", Lead: 8, Unit: column.Count, Meaning: "The number of times that it sums the array."},
		func(p *part) uint64 { return p.Passes }),
}
