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
	Seed       *uint64     `json:"seed,omitempty"`   // of the order of samples; nil: there is no order
	Shares     []PlanShare `json:"shares,omitempty"` // of pinned workers; absent where workers float or queue

	// Of a matrix.
	Cells    []Cell `json:"cells,omitempty"`
	Baseline int    `json:"baseline,omitempty"` // index in the cells; absent: the first
	Order    Order  `json:"order,omitzero"`
	// Comparisons of two cells of which neither is the baseline.
	Contrasts []Contrast `json:"contrasts,omitempty"`
	Estimate  *Estimate  `json:"estimate,omitempty"`

	Lines       *Lines       `json:"lines,omitempty"`        // of exec
	NumaRows    []NumaRow    `json:"numa_rows,omitempty"`    // of numa
	ContendRows []ContendRow `json:"contend_rows,omitempty"` // of contend
	Pairs       *PlanPairs   `json:"pairs,omitempty"`        // of c2c
	PairRows    []PairRow    `json:"pair_rows,omitempty"`    // of pair
	Bind        *PlanBind    `json:"bind,omitempty"`         // of bind
}

// Estimate is how long a matrix is likely to take.
type Estimate struct {
	BaselineSeconds float64 `json:"baseline_seconds"` // of one process, with start and warm-up, as measured; 0: it was not
	RoundSeconds    float64 `json:"round_seconds"`    // 0: not known
	Rounds          int     `json:"rounds"`           // at least, until every verdict can be told
	Asked           bool    `json:"rounds_asked"`     // for exactly so many
	Seconds         float64 `json:"seconds"`          // of so many rounds
	BudgetSeconds   float64 `json:"budget_seconds"`   // 0: no limit
}

// PlanShare is what one CPU is given beforehand.
type PlanShare struct {
	CPU     int `json:"cpu"`
	Core    int `json:"core"`
	LLC     int `json:"llc"`
	Node    int `json:"node"`
	Workers int `json:"workers"`
}
