package pair

// Figures are the figures of one sample of `gorun pair`: two processes that start together, each on its CPU. The
// sample's seconds are those from the common start to the end of the last, its user and system seconds those of both.
type Figures struct {
	CPUA     int    `json:"cpu_a"`
	CPUB     int    `json:"cpu_b"`
	Relation string `json:"relation"` // topology.Relation
	Work     string `json:"work"`     // pair.Works
	Loops    uint64 `json:"loops"`    // asked of each process; where two talk, the round trips

	CallsPerSecond float64 `json:"calls_per_second"` // loops of both over the sample's seconds; a round trip counts once
	NsPerLoop      float64 `json:"ns_per_loop"`      // the sample's seconds over the loops of one process

	Processes []Process    `json:"processes"`            // A, B
	RoundTrip *Percentiles `json:"round_trip,omitempty"` // where two talk
	Intervals []Interval   `json:"intervals,omitempty"`  // of --interval: those that were complete
}

// Interval is a part of a sample.
type Interval struct {
	EndSeconds float64   `json:"end_seconds"` // since the processes were released
	Seconds    float64   `json:"seconds"`     // its length, as it was measured
	CPUShares  []float64 `json:"cpu_shares"`  // of A and B: CPU time over the interval's length
}

// Process is one of the two.
type Process struct {
	PID            int     `json:"pid,omitempty"` // 0: not known
	CPU            int     `json:"cpu"`
	CPUSeen        int     `json:"cpu_seen"` // where it was at the end, as the kernel says; -1: not known
	Loops          uint64  `json:"loops"`    // done
	RealSeconds    float64 `json:"real_seconds"`
	UserSeconds    float64 `json:"user_seconds"`
	SystemSeconds  float64 `json:"system_seconds"`
	CallsPerSecond float64 `json:"calls_per_second"`
}

// Percentiles are those of round trips in nanoseconds (nearest rank), each within 0.2%. A reading of the clock is in
// each of them.
type Percentiles struct {
	P50  float64 `json:"p50_ns"`
	P90  float64 `json:"p90_ns"`
	P99  float64 `json:"p99_ns"`
	P999 float64 `json:"p99_9_ns"`
}
