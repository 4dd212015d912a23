package bind

// Figures are the figures of one sample of `gorun bind`: a trial, whose processes start at the same time. The
// sample's seconds are the mean time of their sums; its user and system seconds are totals.
type Figures struct {
	Bound      bool      `json:"bound"`
	Checks     uint64    `json:"checks"`     // of all processes
	Deviations uint64    `json:"deviations"` // of all
	ArrayBytes uint64    `json:"array_bytes"`
	Passes     uint64    `json:"passes"` // over the array, of each process's sum
	Processes  []Process `json:"processes"`
}

// Process is a process of a trial.
type Process struct {
	Process       int               `json:"process"`    // from 0
	CPU           int               `json:"cpu"`        // that it is bound to; -1: not bound, or bound to several
	CPUs          string            `json:"cpus"`       // kernel list of the CPUs that it is bound to; "": not bound
	Checks        uint64            `json:"checks"`     // of the CPU that it runs on
	Deviations    uint64            `json:"deviations"` // checks that found another CPU; unbound: than the previous check
	MovedTo       map[string]uint64 `json:"moved_to"`   // deviations by CPU
	Seconds       float64           `json:"seconds"`    // of its sum
	UserSeconds   float64           `json:"user_seconds"`
	SystemSeconds float64           `json:"system_seconds"`
	Partial       bool              `json:"partial,omitempty"` // it was cut short
}
