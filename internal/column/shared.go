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

// Signals are what was counted of a sample's disturbances. They are not of the experiment's figures: in CSV, they come last.
var Signals = of(Column{}, func(s *result.Sample) *result.Signals { return &s.Quality.Signals })

// Faults count page faults.
var Faults = List{Signals.Get("minor_faults"), Signals.Get("major_faults")}

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
	Switches = List{Signals.Get("migrations"), Signals.Get("voluntary_switches"), Signals.Get("involuntary_switches")}
	Workers  = of(Column{}, func(s *result.Sample) *result.Workers { return s.Workers })
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
