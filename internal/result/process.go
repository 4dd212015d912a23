package result

// PairRow is a pair that `gorun pair` measures, or a relation that no two CPUs of the run have.
type PairRow struct {
	CPUA     int    `json:"cpu_a"` // -1: there is no pair
	CPUB     int    `json:"cpu_b"`
	Relation string `json:"relation"`
	Loops    uint64 `json:"loops"`             // of each process; where two talk, the round trips
	Lacking  string `json:"lacking,omitempty"` // why there is no pair
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
