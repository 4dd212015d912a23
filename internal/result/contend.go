package result

// ContendRow is a row of `gorun contend`: which CPUs make which operation at once, and on what memory.
type ContendRow struct {
	Row         int    `json:"row"`
	Op          string `json:"op"`
	Instruction string `json:"instruction"` // that the loop repeats: "lock xadd"
	Load        string `json:"load"`        // the load pattern that made the row
	CPUs        int    `json:"cpus"`
	CPUList     string `json:"cpu_list"` // kernel list
	Pattern     string `json:"pattern"`  // a group a node of the run, ascending: * runs, - does not; "**-- *---"
	DistBytes   int    `json:"dist_bytes"`
	MemNode     int    `json:"mem_node"` // that the memory was asked from
}

// PlanPairs is what `gorun c2c --dry-run` shows.
type PlanPairs struct {
	Which     string         `json:"which"` // all, per-core, per-llc
	Pairs     int            `json:"pairs"`
	Relations map[string]int `json:"relations"` // pairs by relation
	Seconds   float64        `json:"seconds"`   // of each pair
	Estimate  float64        `json:"estimate_seconds"`
}
