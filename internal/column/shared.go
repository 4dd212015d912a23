package column

import "gorun/internal/result"

// Wall is the wall time of a sample.
var Wall = Derived(Column{
	Name: "seconds", Label: "wall", Unit: Seconds, Better: Lower, Bench: "ns/op",
	Meaning: "The wall time of the sample.",
}, func(s *result.Sample) float64 { return s.Seconds })

// CPU is the CPU time of a sample; absent where none was counted. Tables show its two parts.
var CPU = Derived(Column{
	Name: "cpu_seconds", Label: "CPU time", Unit: Seconds, Better: Lower, Hidden: true,
	Meaning: "The CPU time of all threads, in user mode and in the kernel.",
}, func(s *result.Sample) *float64 { return Some(s.CPUSeconds()) })

// Times are the wall time and the CPU time of a sample.
var Times = List{
	Wall,
	CPU,
	Derived(Column{
		Name: "user_seconds", Detail: true, Label: "user", Unit: Seconds, Better: Lower, Bench: "user-ns/op",
		Meaning: "The CPU time of all threads in user mode.",
	}, func(s *result.Sample) float64 { return s.UserSeconds }),
	Derived(Column{
		Name: "system_seconds", Detail: true, Label: "system", Unit: Seconds, Better: Lower, Bench: "sys-ns/op",
		Meaning: "The CPU time of all threads in the kernel.",
	}, func(s *result.Sample) float64 { return s.SystemSeconds }),
}

// Switches count how often threads left a CPU, and Workers describe the workers of a pool.
var (
	Switches = List{
		Derived(Column{
			Name: "migrations", Label: "migrations of threads", Unit: Count, Bench: "migrations/op",
			Meaning: "The moves of threads between CPUs, as the kernel counts them.",
		}, func(s *result.Sample) *uint64 { return s.Quality.Signals.Migrations }),
		Derived(Column{
			Name: "voluntary_switches", Detail: true, Label: "switches, voluntary", Unit: Count,
			Meaning: "How often a thread gave up its CPU to wait.",
		}, func(s *result.Sample) *uint64 { return s.Quality.Signals.VoluntarySwitches }),
		Derived(Column{
			Name: "involuntary_switches", Detail: true, Label: "switches, involuntary", Unit: Count, Bench: "involuntary-switches/op",
			Meaning: "How often the kernel took a thread off its CPU.",
		}, func(s *result.Sample) *uint64 { return s.Quality.Signals.InvoluntarySwitches }),
	}
	Workers = List{
		workers("changed_cpu", "workers that changed CPU", "How many workers were seen on more than one CPU.", Count,
			func(w *result.Workers) *int { return &w.ChangedCPU }),
		workers("changed_thread", "workers that changed thread", "How many workers ended on another thread than they began on.",
			Count, func(w *result.Workers) *int { return w.ChangedThread }),
		workers("off_cpu", "workers off their CPU", "How many workers were pinned to a CPU and ended on another one.", Count,
			func(w *result.Workers) *int { return w.OffCPU }),
		workers("imbalance", "slowest worker over the mean", "The time of the slowest worker over that of the mean one.", Ratio,
			func(w *result.Workers) *float64 {
				if w.Count == 0 {
					return nil
				}
				return &w.Imbalance
			}),
	}
)

func workers[V any](name, label, meaning string, unit Unit, get func(*result.Workers) *V) Column {
	return Derived(Column{Name: name, Label: label, Unit: unit, Meaning: meaning, Detail: name != "off_cpu"}, func(s *result.Sample) *V {
		if s.Workers == nil {
			return nil
		}
		return get(s.Workers)
	})
}

// Common returns the columns that every experiment has, also one that this gorun does not know.
func Common() List { return Join(Times, Switches, Workers) }

// Join makes one list of several.
func Join(lists ...List) (all List) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// MemoryPeak is the peak memory of gorun's own process; bench is its unit in a benchmark line, "" for none.
func MemoryPeak[F any](bench string, get func(*F) result.OwnProcess) Column {
	return Figure(Column{
		Name: "memory_peak_bytes", Label: "memory at the peak", Unit: Bytes, Bench: bench,
		Meaning: "The greatest resident memory of gorun's process.",
	}, func(f *F) *uint64 { return get(f).MemoryPeakBytes })
}

// Distribution returns the columns of a distribution; their names and meanings begin with those of c. get returns nil
// if there is none.
func Distribution[F any](c Column, get func(*F) *result.Distribution) (all List) {
	for _, part := range [...]struct {
		name, meaning string
		of            func(*result.Distribution) *float64
	}{
		{"min", "the least", func(d *result.Distribution) *float64 { return &d.Min }},
		{"median", "the median", func(d *result.Distribution) *float64 { return &d.Median }},
		{"mean", "the mean", func(d *result.Distribution) *float64 { return &d.Mean }},
		{"p99", "99 of 100 are no more", func(d *result.Distribution) *float64 { return &d.P99 }},
		{"max", "the greatest", func(d *result.Distribution) *float64 { return &d.Max }},
	} {
		one := c
		one.Name, one.Meaning = c.Name+"_"+part.name, c.Meaning+": "+part.meaning+"."
		all = append(all, Figure(one, func(f *F) *float64 {
			if d := get(f); d != nil {
				return part.of(d)
			}
			return nil
		}))
	}
	return all
}

// Migrations returns the columns of migrations that were recorded individually. get returns nil if none were.
func Migrations[F any](get func(*F) *result.Migrations) List {
	count := func(name, meaning string, of func(*result.Migrations) *uint64) Column {
		return migration(get, "migrations_"+name, Count, meaning, of)
	}
	word := func(name, meaning string, of func(*result.Migrations) string) Column {
		return migration(get, "migrations_"+name, None, meaning, of)
	}
	worse := func(of func(*result.Warning) string) func(*result.Migrations) string {
		return func(m *result.Migrations) string {
			if m.Worse == nil {
				return ""
			}
			return of(m.Worse)
		}
	}
	nodes := func(name, meaning string, of func(*result.Migrations) map[string]uint64) Column {
		return Each(Column{Name: "migrations_" + name, Unit: Count, Meaning: meaning}, func(f *F) map[string]uint64 {
			if m := get(f); m != nil {
				return of(m)
			}
			return nil
		})
	}
	return List{
		word("by", "How the moves between CPUs were recorded.", func(m *result.Migrations) string { return m.By }),
		count("total", "All moves between CPUs.", func(m *result.Migrations) *uint64 { return &m.Total }),
		count("same_core", "The moves to a CPU of the same core.", func(m *result.Migrations) *uint64 { return &m.SameCore }),
		count("same_llc", "The moves to another core with the same last-level cache.",
			func(m *result.Migrations) *uint64 { return &m.SameLLC }),
		count("same_node", "The moves to another last-level cache of the same node.",
			func(m *result.Migrations) *uint64 { return &m.SameNode }),
		count("cross_node", "The moves to another node.", func(m *result.Migrations) *uint64 { return &m.CrossNode }),
		nodes("from_node", "The moves to another node, by the node that was left.",
			func(m *result.Migrations) map[string]uint64 { return m.FromNode }),
		nodes("to_node", "The moves to another node, by that node.",
			func(m *result.Migrations) map[string]uint64 { return m.ToNode }),
		count("lost", "Records of moves that the kernel dropped.", func(m *result.Migrations) *uint64 { return &m.Lost }),
		word("worse_code", "The code of the reason why moves could not be recorded by a better method.",
			worse(func(w *result.Warning) string { return w.Code })),
		word("worse_message", "Why moves could not be recorded by a better method.",
			worse(func(w *result.Warning) string { return w.Message })),
		word("worse_hint", "What allows moves to be recorded by a better method.",
			worse(func(w *result.Warning) string { return w.Hint })),
	}
}

func migration[F, V any](
	get func(*F) *result.Migrations, name string, unit Unit, meaning string, of func(*result.Migrations) V,
) Column {
	return Figure(Column{Name: name, Unit: unit, Meaning: meaning, Hidden: true}, func(f *F) any {
		if m := get(f); m != nil {
			return of(m)
		}
		return nil
	})
}
