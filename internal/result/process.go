package result

// ProcessPair are the figures of one sample of `gorun pair`: two processes that start together, each on its CPU. The
// sample's seconds are those from the common start to the end of the last, its user and system seconds those of both.
type ProcessPair struct {
	CPUA     int    `json:"cpu_a"`
	CPUB     int    `json:"cpu_b"`
	Relation string `json:"relation"` // topology.Relation
	Work     string `json:"work"`     // pair.Works
	Loops    uint64 `json:"loops"`    // asked of each process; where two talk, the round trips

	CallsPerSecond float64 `json:"calls_per_second"` // loops of both over the sample's seconds; a round trip counts once
	NsPerLoop      float64 `json:"ns_per_loop"`      // the sample's seconds over the loops of one process

	Processes []PairProcess `json:"processes"`            // A, B
	RoundTrip *Percentiles  `json:"round_trip,omitempty"` // where two talk
}

// PairProcess is one of the two.
type PairProcess struct {
	CPU            int     `json:"cpu"`
	CPUSeen        int     `json:"cpu_seen"` // where it was at the end, as the kernel says; -1: not known
	Loops          uint64  `json:"loops"`    // done
	RealSeconds    float64 `json:"real_seconds"`
	UserSeconds    float64 `json:"user_seconds"`
	SystemSeconds  float64 `json:"system_seconds"`
	CallsPerSecond float64 `json:"calls_per_second"`
}

// PairRow is a pair that `gorun pair` measures, or a relation that no two CPUs of the run have.
type PairRow struct {
	CPUA     int    `json:"cpu_a"` // -1: there is no pair
	CPUB     int    `json:"cpu_b"`
	Relation string `json:"relation"`
	Loops    uint64 `json:"loops"`             // of each process; where two talk, the round trips
	Lacking  string `json:"lacking,omitempty"` // why there is no pair
}

// Percentiles are those of round trips in nanoseconds (nearest rank), each within 0.2%. A reading of the clock is in
// each of them.
type Percentiles struct {
	P50  float64 `json:"p50_ns"`
	P90  float64 `json:"p90_ns"`
	P99  float64 `json:"p99_ns"`
	P999 float64 `json:"p99_9_ns"`
}

// Bind are the figures of one sample of `gorun bind`: a trial, whose processes start together. The sample's seconds are
// the mean time of their sums, its user and system seconds those of all.
type Bind struct {
	Bound      bool          `json:"bound"`
	Checks     uint64        `json:"checks"`     // of all processes
	Deviations uint64        `json:"deviations"` // of all
	ArrayBytes uint64        `json:"array_bytes"`
	Passes     uint64        `json:"passes"` // of each process's sum over its array
	Processes  []BindProcess `json:"processes"`
}

// BindProcess is a process of a trial.
type BindProcess struct {
	Process       int               `json:"process"`    // from 0
	CPU           int               `json:"cpu"`        // that it is bound to; -1: not bound
	Checks        uint64            `json:"checks"`     // looks at the CPU that it is on
	Deviations    uint64            `json:"deviations"` // looks that found another one; unbound: than the look before
	MovedTo       map[string]uint64 `json:"moved_to"`   // deviations by CPU
	Seconds       float64           `json:"seconds"`    // of its sum
	UserSeconds   float64           `json:"user_seconds"`
	SystemSeconds float64           `json:"system_seconds"`
	Partial       bool              `json:"partial,omitempty"` // it was cut short
}

// Exec are the figures of one sample of `gorun exec`: a command and all its descendants. The sample's seconds are those
// from the command's start to its end.
type Exec struct {
	ExitCode    int    `json:"exit_code"`        // 128+n for a signal
	Signal      int    `json:"signal,omitempty"` // that ended it
	TimedOut    bool   `json:"timed_out,omitempty"`
	MaxRSSBytes uint64 `json:"max_rss_bytes"` // of the process that had most
	// What each begins with, as a copy of gorun: no less can be told.
	MaxRSSFloorBytes uint64 `json:"max_rss_floor_bytes"`

	Killed int      `json:"killed,omitempty"` // descendants that were still there at the command's end
	Metric *float64 `json:"metric,omitempty"` // the command's own figure

	Migrations *Migrations `json:"migrations,omitempty"`
}

// Lines are how to have a setting of a command without gorun.
type Lines struct {
	Taskset    string   `json:"taskset,omitempty"` // before the command; "": taskset(1) cannot set it all
	Numactl    string   `json:"numactl,omitempty"` // before the command; "": nothing is to be set
	Systemd    []string `json:"systemd,omitempty"` // of a unit's [Service]; none: nothing is to be set (systemd.exec(5))
	Kubernetes string   `json:"kubernetes,omitempty"`
}

// PlanBind are the trials of `gorun bind`.
type PlanBind struct {
	CPUs  []int  `json:"cpus"`  // that each process is bound to
	Order []bool `json:"order"` // whether each trial is bound
}
