package result

// Migrations are the moves of threads between CPUs.
type Migrations struct {
	By        string            `json:"by"` // perf.Method, or a word of another version: it is only shown
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
