package result

// NumaRow is a row of `gorun numa`: where the probe and its memory are bound, and how the probe accesses the memory.
type NumaRow struct {
	Row           int     `json:"row" figure:",csv=1,verbose" is:"The number of the row."`
	Mem           int     `json:"mem" figure:",csv=2,key=mem" words:"-1=F" is:"The node that the memory is bound to; -1: it floats."`
	CPU           int     `json:"cpu" figure:",csv=3,key=cpu" words:"-1=F" is:"The node that the probe is bound to; -1: it floats."`
	NUMABalancing int     `json:"numa_balancing" figure:",csv=4,key=numa_balancing" words:"-1=keep" is:"NUMA balancing: 0 off, 1 on, -1 as it is."`
	PreferredNode int     `json:"preferred_node" figure:",csv=5,key=preferred_node" words:"-1=none" is:"The preferred node; -1: none."`
	PreferredBy   string  `json:"preferred_by,omitempty" figure:",csv=14,key=preferred_by" is:"How the node is preferred."` // "prctl" or "mempolicy"
	BufferBytes   uint64  `json:"buffer_bytes" figure:"B,csv=6,key=buffer_bytes" is:"The size of the probe's memory."`
	Pages         string  `json:"pages" figure:",csv=7,key=pages" is:"The kind of the memory's pages."`                                                                // linux.PageKinds
	Access        string  `json:"access" figure:",csv=8,key=access" is:"The probe's access pattern."`                                                                  // csrc.ProbeAccesses
	MemPolicy     string  `json:"mem_policy,omitempty" figure:",key=mem_policy" is:"The way that the memory is bound, if it is not plain bind."`                       // "bind+balancing"
	FirstTouch    string  `json:"first_touch,omitempty" figure:",key=first_touch" is:"The first touch of floating memory, if it is not by the probe on its own node."` // "far", "interleaved", "before"
	ScanDelay     float64 `json:"scan_delay_seconds,omitempty" figure:"s,key=scan_delay" is:"The CPU time before NUMA balancing's first scan, and between scans, if the row sets it."`
	MigrationCost float64 `json:"migration_cost_seconds,omitempty" figure:"s,key=migration_cost" is:"The time after which the scheduler assumes that a thread's caches are cold, if the row sets it."`
	Unsupported   string  `json:"unsupported,omitempty" figure:",verbose" is:"Why the row cannot be measured here."`
	NoEffect      string  `json:"no_effect,omitempty" figure:",verbose" is:"Why the kernel ignores a part of what the row sets."`
}

// Cache is a data cache that a CPU reaches.
type Cache struct {
	Level int    `json:"level"`
	Bytes uint64 `json:"bytes"`
}

// Load is a load that runs at the same time as what is measured.
type Load struct {
	Requested float64   `json:"requested" figure:"%,key=load" is:"The load requested on each CPU%s."`
	CPUs      []LoadCPU `json:"cpus"`
}

// LoadCPU is the load on one CPU, in percent of it.
type LoadCPU struct {
	CPU      int     `json:"cpu"`
	Achieved float64 `json:"achieved"`
	Expected float64 `json:"expected"` // at least: the requested load, or less if the probe used the CPU
}
