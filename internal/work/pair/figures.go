package pair

import (
	"math"
	"slices"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
)

// Figures are the figures of one sample of `gorun pair`: two processes that start at the same time, each on its CPU.
// The sample's seconds last from the common start to the end of the slower process; its user and system seconds are
// the sums of both.
type Figures struct {
	Work     string `json:"work" figure:",csv=4,key=work" is:"What each process does."` // pair.Works
	CPUA     int    `json:"cpu_a" figure:",csv=1,key=a" is:"The CPU of process A."`
	CPUB     int    `json:"cpu_b" figure:",csv=2,key=b" is:"The CPU of process B."`
	Relation string `json:"relation" figure:",csv=3,key=relation" is:"What the two CPUs share."` // topology.Relation
	Loops    uint64 `json:"loops" figure:"number,csv=5,repeats" is:"The requested loops of each process, or the round trips of two that exchange messages."`

	NsPerLoop      float64      `json:"ns_per_loop" figure:"ns,lower,csv=7,bench=ns/op" label:"a loop" is:"The wall time divided by the loops of one process."`
	CallsPerSecond float64      `json:"calls_per_second" figure:"1/s,higher,csv=6,bench=calls/s" label:"loops a second" is:"The loops per second of both processes; a round trip counts once."`
	RoundTrip      *Percentiles `json:"round_trip,omitempty" figure:"ns,lower" group:"Round trips"` // of two that exchange messages

	Processes []Process  `json:"processes"`           // of process A and process B
	Intervals []Interval `json:"intervals,omitempty"` // the complete intervals of --interval
}

// Percentiles are of round trips, by nearest rank, each within 0.2%. They include one reading of the clock.
type Percentiles struct {
	P50  float64 `json:"p50_ns" figure:",bench=p50-ns" label:"p50" is:"The median time of a round trip."`
	P90  float64 `json:"p90_ns" label:"p90" is:"The time that 90 of 100 round trips do not exceed."`
	P99  float64 `json:"p99_ns" figure:",bench=p99-ns" label:"p99" is:"The time that 99 of 100 round trips do not exceed."`
	P999 float64 `json:"p99_9_ns" figure:",bench=p99.9-ns" label:"p99.9" is:"The time that 999 of 1000 round trips do not exceed."`
}

var (
	columns = column.Join(column.TimeP().With(func(c *column.Column) {
		c.Rank = 1 + slices.Index([]string{"seconds", "user_seconds", "system_seconds"}, c.Name)
	}), column.Of[Figures]().After("ns_per_loop", cpuPerLoop))
	perLoop = columns.Get("ns_per_loop") // by which cells are compared

	// cpuPerLoop is judged as well: two processes that take turns on one CPU cost wall time but hardly any CPU time.
	cpuPerLoop = column.Derived(column.Column{
		Name: "cpu_ns_per_loop", Label: "CPU time", Unit: column.Nanoseconds, Better: column.Lower, Hidden: true,
		Meaning: "The CPU time of both processes divided by the loops of one.",
	}, func(s *result.Sample) *float64 {
		p, ok := result.Typed[Figures](s)
		if !ok || p.Loops == 0 || s.CPUSeconds() == 0 {
			return nil
		}
		return new(math.Round(1e9*s.CPUSeconds()) / float64(p.Loops))
	})
)

// Interval is a part of a sample.
type Interval struct {
	EndSeconds float64   `json:"end_seconds"` // since the start
	Seconds    float64   `json:"seconds"`     // measured length
	CPUShares  []float64 `json:"cpu_shares"`  // of A and B: CPU time over the interval's length
}

// Process is one of the two processes.
type Process struct {
	PID            int     `json:"pid,omitempty"` // 0: not known
	CPU            int     `json:"cpu"`
	CPUSeen        int     `json:"cpu_seen"` // CPU at the end, as the kernel reports it; -1: not known
	Loops          uint64  `json:"loops"`    // done
	RealSeconds    float64 `json:"real_seconds"`
	UserSeconds    float64 `json:"user_seconds"`
	SystemSeconds  float64 `json:"system_seconds"`
	CallsPerSecond float64 `json:"calls_per_second"`
}
