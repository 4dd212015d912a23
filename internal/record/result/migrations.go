package result

// Migrations are the moves of threads between CPUs that were recorded individually.
type Migrations struct {
	// By is a perf.Method, or a word of another version: it is only shown.
	By        string            `json:"by" is:"How the moves between CPUs were recorded."`
	Total     uint64            `json:"total" figure:"count" label:"total" is:"All moves between CPUs."`
	SameCore  uint64            `json:"same_core" figure:"count" label:"same core" is:"The moves to a CPU of the same core."`
	SameLLC   uint64            `json:"same_llc" figure:"count" label:"same LLC" is:"The moves to another core with the same last-level cache."`
	SameNode  uint64            `json:"same_node" figure:"count" label:"same node" is:"The moves to another last-level cache of the same node."`
	CrossNode uint64            `json:"cross_node" figure:"count" label:"cross node" is:"The moves to another node."`
	FromNode  map[string]uint64 `json:"from_node" figure:"count" label:"from node" is:"The moves to another node, by the node that was left."`
	ToNode    map[string]uint64 `json:"to_node" figure:"count" label:"to node" is:"The moves to another node, by that node."`
	Lost      uint64            `json:"lost" figure:"count" label:"lost" is:"Records of moves that the kernel dropped."`
	Worse     *Warning          `json:"worse,omitempty" is:"why moves could not be recorded by a better method"`
}
