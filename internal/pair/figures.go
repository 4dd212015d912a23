package pair

// Figures are the figures of one sample of `gorun pair`: two processes that start at the same time, each on its CPU.
// The sample's seconds last from the common start to the end of the slower process; its user and system seconds are
// the sums of both.
type Figures struct {
	CPUA     int    `json:"cpu_a"`
	CPUB     int    `json:"cpu_b"`
	Relation string `json:"relation"` // topology.Relation
	Work     string `json:"work"`     // pair.Works
	Loops    uint64 `json:"loops"`    // requested of each process; of two that exchange messages, the round trips

	CallsPerSecond float64 `json:"calls_per_second"` // loops of both over the sample's seconds; a round trip counts once
	NsPerLoop      float64 `json:"ns_per_loop"`      // the sample's seconds over the loops of one process

	Processes []Process    `json:"processes"`            // of process A and process B
	RoundTrip *Percentiles `json:"round_trip,omitempty"` // of two that exchange messages
	Intervals []Interval   `json:"intervals,omitempty"`  // the complete intervals of --interval
}

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

// Percentiles are of round trips, in nanoseconds, by nearest rank, each within 0.2%. They include one reading of the
// clock.
type Percentiles struct {
	P50  float64 `json:"p50_ns"`
	P90  float64 `json:"p90_ns"`
	P99  float64 `json:"p99_ns"`
	P999 float64 `json:"p99_9_ns"`
}
