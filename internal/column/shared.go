package column

import (
	"slices"

	"gorun/internal/result"
)

// Wall is the wall time of a sample.
var Wall = Derived(Column{
	Name: "seconds", Label: "wall", Unit: Seconds, Better: Lower, Bench: "ns/op",
	Meaning: "The wall time of the sample.",
}, func(s *result.Sample) float64 { return s.Seconds })

// CPU is the CPU time of a sample; absent where none was counted. Tables show its two parts.
var CPU = Derived(Column{
	Name: "cpu_seconds", Label: "CPU time", Unit: Seconds, Better: Lower, Hidden: true,
	Meaning: "The CPU time of all threads, in user mode and in the kernel.",
}, func(s *result.Sample) *float64 {
	if s.CPUSeconds() == 0 {
		return nil
	}
	return new(s.CPUSeconds())
})

// Times are the wall time and the CPU time of a sample.
var Times = List{
	Wall,
	CPU,
	Derived(Column{
		Name: "user_seconds", Verbose: true, Label: "user", Unit: Seconds, Better: Lower, Bench: "user-ns/op",
		Meaning: "The CPU time of all threads in user mode.",
	}, func(s *result.Sample) float64 { return s.UserSeconds }),
	Derived(Column{
		Name: "system_seconds", Verbose: true, Label: "system", Unit: Seconds, Better: Lower, Bench: "sys-ns/op",
		Meaning: "The CPU time of all threads in the kernel.",
	}, func(s *result.Sample) float64 { return s.SystemSeconds }),
}

// TimeP are the wall time and the parts of the CPU time as `time -p` calls them. They are not in benchmark lines.
func TimeP() (times List) {
	for _, c := range Times {
		if label := map[string]string{"seconds": "real", "user_seconds": "user", "system_seconds": "sys"}[c.Name]; label != "" {
			c.Label, c.Bench, c.Verbose = label, "", false
		}
		times = append(times, c)
	}
	return times
}

// Faults count page faults.
var Faults = List{
	Derived(Column{
		Name: "minor_faults", Label: "page faults, minor", Unit: Count, Meaning: "The page faults that needed no reading from a disk.",
	}, func(s *result.Sample) *uint64 { return s.Quality.Signals.MinorFaults }),
	Derived(Column{
		Name: "major_faults", Label: "page faults, major", Unit: Count, Meaning: "The page faults that needed reading from a disk.",
	}, func(s *result.Sample) *uint64 { return s.Quality.Signals.MajorFaults }),
}

// Plain returns columns that the table always shows.
func (l List) Plain() List {
	l = slices.Clone(l)
	for i := range l {
		l[i].Verbose = false
	}
	return l
}

// Switches count how often threads left a CPU, and Workers describe the workers of a pool.
var (
	Switches = List{
		Derived(Column{
			Name: "migrations", Label: "migrations of threads", Unit: Count, Bench: "migrations/op",
			Meaning: "The moves of threads between CPUs, as the kernel counts them.",
		}, func(s *result.Sample) *uint64 { return s.Quality.Signals.Migrations }),
		Derived(Column{
			Name: "voluntary_switches", Verbose: true, Label: "switches, voluntary", Unit: Count,
			Meaning: "How often a thread gave up its CPU to wait.",
		}, func(s *result.Sample) *uint64 { return s.Quality.Signals.VoluntarySwitches }),
		Derived(Column{
			Name: "involuntary_switches", Verbose: true, Label: "switches, involuntary", Unit: Count, Bench: "involuntary-switches/op",
			Meaning: "How often the kernel took a thread off its CPU.",
		}, func(s *result.Sample) *uint64 { return s.Quality.Signals.InvoluntarySwitches }),
	}
	Workers = of(Column{}, func(s *result.Sample) *result.Workers { return s.Workers })
)

// Common returns the columns that every experiment has, also one that this gorun does not know.
func Common() List { return Join(Times, Switches, Workers) }

// Join makes one list of several.
func Join(lists ...List) (all List) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
