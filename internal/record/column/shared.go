package column

import (
	"slices"

	"gorun/internal/record/result"
)

// times are the times of a sample.
type times struct {
	Wall   *float64 `json:"seconds" figure:"s,lower,bench=ns/op" label:"wall" is:"The wall time of the sample."`
	CPU    *float64 `json:"cpu_seconds" figure:"s,lower,hidden" label:"CPU time" is:"The CPU time of all threads, in user mode and in the kernel."`
	User   *float64 `json:"user_seconds" figure:"s,lower,verbose,bench=user-ns/op" label:"user" is:"The CPU time of all threads in user mode."`
	System *float64 `json:"system_seconds" figure:"s,lower,verbose,bench=sys-ns/op" label:"system" is:"The CPU time of all threads in the kernel."`
}

// Times are the wall time and the CPU time of a sample; absent of one that did not run. The sum of the CPU time is also absent where none was
// counted; tables show its two parts.
var Times = of(Column{}, func(s *result.Sample) *times {
	t := &times{}
	if s.Seconds == 0 && s.Quality.Grade == result.Invalid {
		return t
	}
	t.Wall, t.User, t.System = &s.Seconds, &s.UserSeconds, &s.SystemSeconds
	if s.CPUSeconds() != 0 {
		t.CPU = new(s.CPUSeconds())
	}
	return t
})

// The times that are compared.
var (
	Wall = Times.Get(result.WallColumn)
	CPU  = Times.Get("cpu_seconds")
)

// TimeP are the wall time and the parts of the CPU time as `time -p` calls them. They are not in benchmark lines.
func TimeP() List {
	return Times.With(func(c *Column) {
		if label := map[string]string{"seconds": "real", "user_seconds": "user", "system_seconds": "sys"}[c.Name]; label != "" {
			c.Label, c.Bench, c.Verbose = label, "", false
		}
	})
}

// Signals are what was counted of a sample's disturbances. They do not belong to the experiment's figures: in CSV, they come last.
var Signals = of(Column{}, func(s *result.Sample) *result.Signals { return &s.Quality.Signals })

// accounted has the account of a sample.
type accounted struct {
	Account *result.Account `json:"account" is:"%s"`
}

// Accounts are where the time of a sample went. As the signals, they are no figures of the experiment.
var Accounts = of(Column{own: true}, func(s *result.Sample) *accounted { return &accounted{s.Account} })

// Faults count page faults.
var Faults = List{Signals.Get("minor_faults"), Signals.Get("major_faults")}

// Switches count how often threads left a CPU, and Workers describe the workers of a pool.
var (
	Switches = List{Signals.Get("migrations"), Signals.Get("voluntary_switches"), Signals.Get("involuntary_switches")}
	Workers  = of(Column{}, func(s *result.Sample) *result.Workers { return s.Workers })
)

// Common returns the columns that every experiment has, also one that this gorun does not know.
func Common() List { return Join(Times, Switches, Workers) }

// Join makes one list of several.
func Join(lists ...List) List { return slices.Concat(lists...) }
