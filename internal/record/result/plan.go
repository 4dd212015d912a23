package result

// Plan describes what a run would do, for --dry-run, on this machine or a captured one.
type Plan struct {
	Schema     string      `json:"schema"`
	Tool       Tool        `json:"tool"`
	Experiment string      `json:"experiment"`
	Spec       any         `json:"spec"`
	CPUs       string      `json:"cpus"`      // kernel list
	Placement  string      `json:"placement"` // as flags
	Workers    int         `json:"workers"`
	Threads    int         `json:"threads"`          // least number alive at the same time
	Seed       *uint64     `json:"seed,omitempty"`   // of the order of samples; nil: there is no order
	Shares     []PlanShare `json:"shares,omitempty"` // of pinned workers; absent if workers float or queue

	// Of a matrix.
	Cells    []Cell `json:"cells,omitempty"`
	Baseline int    `json:"baseline,omitempty"` // index in the cells; absent: the first
	Order    Order  `json:"order,omitzero"`
	// Comparisons of two cells other than the baseline.
	Contrasts []Contrast `json:"contrasts,omitempty"`
	Steps     []Step     `json:"steps,omitempty"` // of a search in order
	Estimate  *Estimate  `json:"estimate,omitempty"`

	Chosen      string       `json:"chosen,omitempty"`       // of exec: which CPU it has and why, if one was chosen
	Lines       *Lines       `json:"lines,omitempty"`        // of exec
	Dedicated   *Dedicated   `json:"dedicated,omitempty"`    // of exec
	NumaRows    []NumaRow    `json:"numa_rows,omitempty"`    // of numa
	ContendRows []ContendRow `json:"contend_rows,omitempty"` // of contend
	Pairs       *PlanPairs   `json:"pairs,omitempty"`        // of c2c
	PairRows    []PairRow    `json:"pair_rows,omitempty"`    // of pair
	Bind        *PlanBind    `json:"bind,omitempty"`         // of bind
	Program     *PlanProgram `json:"program,omitempty"`      // of live
}

// Estimate is the probable duration of a matrix.
type Estimate struct {
	BaselineSeconds float64 `json:"baseline_seconds"` // measured, of one process with start and warm-up; 0: not measured
	RoundSeconds    float64 `json:"round_seconds"`    // 0: not known
	Rounds          int     `json:"rounds"`           // at least, until every cell is decided
	Asked           bool    `json:"rounds_asked"`     // the user requested exactly this number
	Seconds         float64 `json:"seconds"`          // of these rounds
	BudgetSeconds   float64 `json:"budget_seconds"`   // 0: no limit
}

// PlanShare is the share of the work assigned to one CPU in advance.
type PlanShare struct {
	CPU     int `json:"cpu"`
	Core    int `json:"core"`
	LLC     int `json:"llc"`
	Node    int `json:"node"`
	Workers int `json:"workers"`
}

// PlanProgram is a running program, and how it would be switched.
type PlanProgram struct {
	Who       string       `json:"who"`
	By        string       `json:"by"` // "cpuset": by one write; "threads": each thread by its mask
	Processes int          `json:"processes"`
	Threads   []PlanThread `json:"threads"`
}

// PlanThread is a thread of a running program.
type PlanThread struct {
	PID   int    `json:"pid"`
	TID   int    `json:"tid"`
	Name  string `json:"name"`
	CPUs  string `json:"cpus"` // kernel list
	Nice  int    `json:"nice"`
	Sched string `json:"sched"`
}
