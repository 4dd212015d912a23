package result

// PairRow is a pair that `gorun pair` measures, or a relation that no two CPUs of the run have.
type PairRow struct {
	CPUA     int    `json:"cpu_a"` // -1: there is no pair
	CPUB     int    `json:"cpu_b"`
	Relation string `json:"relation"`
	Loops    uint64 `json:"loops"`             // of each process; round trips if the two talk
	Lacking  string `json:"lacking,omitempty"` // why there is no pair
}

// Exec are the figures of one sample of `gorun exec`: a command and all its descendants. The sample's seconds are those
// from the command's start to its end.
type Exec struct {
	ExitCode int  `json:"exit_code"`        // 128+n for a signal
	Signal   int  `json:"signal,omitempty"` // that ended it
	TimedOut bool `json:"timed_out,omitempty"`
	PeakRSS

	Killed int `json:"killed,omitempty"` // descendants that were still alive at the command's end
	// The command's own figures, in the order of --metric; nil: it was not asked for, or not printed.
	Metric  *float64 `json:"metric,omitempty"`
	Metric2 *float64 `json:"metric_2,omitempty"`
	Metric3 *float64 `json:"metric_3,omitempty"`
	Metric4 *float64 `json:"metric_4,omitempty"`

	Migrations *Migrations `json:"migrations,omitempty"`
	Dedicated  *Dedicated  `json:"dedicated,omitempty"` // of --dedicate
}

// PeakRSS is the peak resident memory of the processes of a command.
type PeakRSS struct {
	MaxRSSBytes *uint64 `json:"max_rss_bytes"` // of the largest process; null: not above the floor, and so not known
	// The size of each process at its start, as a copy of gorun: a smaller maximum cannot be measured.
	MaxRSSFloorBytes uint64 `json:"max_rss_floor_bytes"`
}

// Known returns the peak; nil: it is not known.
func (p PeakRSS) Known() *uint64 {
	if p.MaxRSSBytes == nil || *p.MaxRSSBytes <= p.MaxRSSFloorBytes {
		return nil
	}
	return p.MaxRSSBytes
}

// Dedicated lists what was moved off a CPU for a command, or would be, and what was left there.
type Dedicated struct {
	CPU        int      `json:"cpu"`
	Processes  int      `json:"processes"` // of which at least one thread was moved
	Threads    int      `json:"threads"`
	Interrupts int      `json:"interrupts"`
	Changed    int      `json:"changed"` // threads to which somebody else gave another mask meanwhile
	Left       []LeftOn `json:"left"`
}

// LeftOn are threads or interrupts that were left on a CPU for the same reason.
type LeftOn struct {
	What  string   `json:"what"` // thread, kernel thread, interrupt
	Why   string   `json:"why"`
	Count int      `json:"count"`
	Names []string `json:"names,omitempty"` // of a plan
}

// Metrics returns where the command's own figures are kept, in the order of --metric.
func (e *Exec) Metrics() []**float64 {
	return []**float64{&e.Metric, &e.Metric2, &e.Metric3, &e.Metric4}
}

// Lines holds ways to apply a setting to a command without gorun.
type Lines struct {
	Taskset    string   `json:"taskset,omitempty"` // before the command; "": taskset(1) cannot set it all
	Numactl    string   `json:"numactl,omitempty"` // before the command; "": nothing to set
	Systemd    []string `json:"systemd,omitempty"` // of a unit's [Service]; none: nothing to set (systemd.exec(5))
	Kubernetes string   `json:"kubernetes,omitempty"`
}

// PlanBind holds the trials of `gorun bind`.
type PlanBind struct {
	CPUs  []int    `json:"cpus"`            // that each process is bound to; -1: several
	Masks []string `json:"masks,omitempty"` // of --masks: the kernel list of each process
	Order []bool   `json:"order"`           // whether each trial is bound
}
