package result

// ContendRow is a row of `gorun contend`: the CPUs, the operation that they execute at the same time, and its memory.
type ContendRow struct {
	Row         int    `json:"row" figure:",csv=1,verbose" is:"The number of the row."`
	Op          string `json:"op" figure:",csv=2,key=op" is:"The operation that every CPU repeats."`
	Instruction string `json:"instruction" figure:",verbose" is:"The instruction that the loop repeats."` // "lock xadd"
	Load        string `json:"load" figure:",csv=3,key=load,verbose" is:"The load pattern of the row."`
	CPUs        int    `json:"cpus" figure:"count,csv=4,key=cpus" label:"CPUs" is:"The number of CPUs that run."`
	CPUList     string `json:"cpu_list" figure:",csv=11,key=cpu_list,rank=21" label:"which" is:"The CPUs that run."` // kernel list
	// One group per node of the run, ascending: * runs, - does not; "**-- *---".
	Pattern   string `json:"pattern" figure:",csv=12,verbose,rank=20" label:"CPUs by node" is:"The CPUs that run, drawn node by node."`
	DistBytes int    `json:"dist_bytes" figure:"B,csv=13,key=dist_bytes" label:"words apart" is:"The distance between the words of two CPUs; 0: they share one word."`
	Dist      int    `json:"dist,omitempty" figure:"-"` // has a column if DistBy is set
	DistBy    string `json:"dist_by,omitempty" figure:",rank=19" is:"The unit of dist: word, a CPU's word has the index CPU * dist; bit, its bit has the index CPU << dist."`
	MemNode   int    `json:"mem_node" figure:",csv=14,key=mem_node" label:"memory on node" is:"The requested node of the memory."`
}

// PlanPairs is the plan that `gorun c2c --dry-run` shows.
type PlanPairs struct {
	Which     string         `json:"which"` // all, per-core, per-llc
	Pairs     int            `json:"pairs"`
	Relations map[string]int `json:"relations"` // pairs by relation
	Seconds   float64        `json:"seconds"`   // of each pair
	Estimate  float64        `json:"estimate_seconds"`
}
