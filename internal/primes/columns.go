package primes

import (
	"gorun/internal/column"
	"gorun/internal/result"
)

// columns are in the order of the table.
var columns = column.Join(
	column.List{
		column.Figure(column.Column{
			Name: "primes", Unit: column.Count, Meaning: "The primes found, in all passes.",
			Counts: func(l *result.Live, n float64) { l.PrimesFound += uint64(n) },
		}, func(f *Figures) uint64 { return f.Primes }),
		column.Figure(column.Column{
			Name: "numbers", Unit: column.Count, Hidden: true, Meaning: "The numbers tested to the end, in all passes.",
			Counts: func(l *result.Live, n float64) { l.NumbersTested += uint64(n) },
		}, func(f *Figures) uint64 { return f.Numbers }),
		column.Figure(column.Column{
			Name: "workers", Unit: column.Count, Hidden: true, Meaning: "The workers that shared the numbers.",
		}, func(f *Figures) int { return f.Workers }),
	},
	column.Times,
	column.List{
		column.Figure(column.Column{
			Name: "cpu_utilisation", Label: "CPU utilisation", Unit: column.Share, Better: column.Higher,
			Meaning: "The CPU time over the wall time of all CPUs of the run.",
		}, func(f *Figures) float64 { return f.CPUUtilisation }),
		column.Figure(column.Column{
			Name: "speedup", Label: "speed-up", Unit: column.Ratio, Better: column.Higher,
			Meaning: "The CPU time over the wall time.",
		}, func(f *Figures) float64 { return f.Speedup }),
		column.Figure(column.Column{
			Name: "trials", Detail: true, Unit: column.Large, Meaning: "The tests of divisibility, if the method makes them.",
		}, func(f *Figures) *uint64 { return column.Some(f.Trials) }),
		column.Figure(column.Column{
			Name: "trials_per_second", Detail: true, Label: "trials a second", Unit: column.PerSecond, Better: column.Higher,
			Bench: "trials/s", Meaning: "The tests of divisibility in a second of wall time.",
		}, func(f *Figures) *float64 { return column.Some(f.TrialsPerSecond) }),
		column.Figure(column.Column{
			Name: "passes", Unit: column.Count, Hidden: true, Meaning: "The number of times that all numbers were tested.",
		}, func(f *Figures) int { return f.Passes }),
		column.Derived(column.Column{
			Name: "passes_of_many", Label: "passes", Unit: column.Count, Meaning: "The passes, if there was more than one.",
		}, func(s *result.Sample) *int {
			if f, ok := result.Typed[Figures](s); ok && f.Passes > 1 {
				return &f.Passes
			}
			return nil
		}),
		column.Figure(column.Column{
			Name: "threads_peak", Label: "threads at the peak", Unit: column.Count, Bench: "threads-peak",
			Meaning: "The greatest number of threads that gorun's process had at the same time.",
			Counts:  func(l *result.Live, n float64) { l.Threads = int(n) },
		}, func(f *Figures) int { return f.ThreadsPeak }),
		column.MemoryPeak("peak-RSS-bytes", func(f *Figures) result.OwnProcess { return f.OwnProcess }),
	},
	column.Switches,
	column.Workers,
	column.List{
		column.Figure(column.Column{
			Name: "cpu_imbalance", Detail: true, Label: "busiest CPU over the mean", Unit: column.Ratio, Better: column.Lower,
			Meaning: "The busy time of the busiest CPU over the mean of all CPUs of the run.",
		}, func(f *Figures) *float64 { return f.CPUImbalance }),
	},
)
