package result

// Plan is what a run would do, for --dry-run: on this machine, or on a captured one.
type Plan struct {
	Schema     string      `json:"schema"`
	Tool       Tool        `json:"tool"`
	Experiment string      `json:"experiment"`
	Spec       any         `json:"spec"`
	CPUs       string      `json:"cpus"`      // kernel list
	Placement  string      `json:"placement"` // in the words of the flags
	Workers    int         `json:"workers"`
	Threads    int         `json:"threads"`          // alive at once, at least
	Shares     []PlanShare `json:"shares,omitempty"` // of pinned workers; absent where workers float or queue
}

// PlanShare is what one CPU is given beforehand.
type PlanShare struct {
	CPU     int `json:"cpu"`
	Core    int `json:"core"`
	LLC     int `json:"llc"`
	Node    int `json:"node"`
	Workers int `json:"workers"`
}
