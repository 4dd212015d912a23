package result

// ContendRow is a row of `gorun contend`: the CPUs, the operation that they execute at the same time, and its memory.
type ContendRow struct {
	Row         int    `json:"row"`
	Op          string `json:"op"`
	Instruction string `json:"instruction"` // the instruction that the loop repeats: "lock xadd"
	Load        string `json:"load"`        // the load pattern of the row
	CPUs        int    `json:"cpus"`
	CPUList     string `json:"cpu_list"` // kernel list
	Pattern     string `json:"pattern"`  // one group per node of the run, ascending: * runs, - does not; "**-- *---"
	DistBytes   int    `json:"dist_bytes"`
	Dist        int    `json:"dist,omitempty"`    // of --dist, in what DistBy names
	DistBy      string `json:"dist_by,omitempty"` // "word": the index of a CPU's word is CPU * Dist; "bit": of its bit, CPU << Dist
	MemNode     int    `json:"mem_node"`          // the node from which the memory was requested
}

// PlanPairs is the plan that `gorun c2c --dry-run` shows.
type PlanPairs struct {
	Which     string         `json:"which"` // all, per-core, per-llc
	Pairs     int            `json:"pairs"`
	Relations map[string]int `json:"relations"` // pairs by relation
	Seconds   float64        `json:"seconds"`   // of each pair
	Estimate  float64        `json:"estimate_seconds"`
}
