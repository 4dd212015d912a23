package result

import "fmt"

// Migrations are the moves of threads between CPUs.
type Migrations struct {
	By        string            `json:"by"` // how they were recorded: perf.TraceMethod, or "reads"
	Total     uint64            `json:"total"`
	SameCore  uint64            `json:"same_core"`
	SameLLC   uint64            `json:"same_llc"`
	SameNode  uint64            `json:"same_node"`
	CrossNode uint64            `json:"cross_node"`
	FromNode  map[string]uint64 `json:"from_node"` // of the cross-node moves
	ToNode    map[string]uint64 `json:"to_node"`
	Lost      uint64            `json:"lost"`            // records that were dropped
	Worse     *Warning          `json:"worse,omitempty"` // why the best method was not used
}

// DegradedMigrations returns the warning that the best method of recording migrations was not used, because of err.
func DegradedMigrations(by string, err error) *Warning {
	w := WarningOf("trace", fmt.Sprintf("migrations are counted by %q only", by), err)
	return &w
}
