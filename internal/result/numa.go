package result

// NumaRow is a row of `gorun numa`: where the probe and its memory are bound, and how the probe accesses the memory.
type NumaRow struct {
	Row           int     `json:"row"`
	PreferredNode int     `json:"preferred_node"`         // -1: none
	PreferredBy   string  `json:"preferred_by,omitempty"` // how it is requested: "prctl" or "mempolicy"
	NUMABalancing int     `json:"numa_balancing"`         // 0 or 1; -1: unchanged
	Mem           int     `json:"mem"`                    // node that the memory is bound to; -1: it floats
	CPU           int     `json:"cpu"`                    // node whose CPUs the probe is bound to; -1: it floats
	BufferBytes   uint64  `json:"buffer_bytes"`
	Pages         string  `json:"pages"`                            // linux.PageKinds
	Access        string  `json:"access"`                           // csrc.ProbeAccesses
	MemPolicy     string  `json:"mem_policy,omitempty"`             // how memory is bound: "bind+balancing"; absent: bind
	ScanDelay     float64 `json:"scan_delay_seconds,omitempty"`     // of NUMA balancing; absent: as before the run
	MigrationCost float64 `json:"migration_cost_seconds,omitempty"` // of the scheduler; absent: as before the run
	FirstTouch    string  `json:"first_touch,omitempty"`            // "far", "interleaved", "before"; absent: near
	Unsupported   string  `json:"unsupported,omitempty"`            // why it cannot be measured here
	NoEffect      string  `json:"no_effect,omitempty"`              // why the kernel ignores a part of the row
}

// Cache is a data cache that a CPU reaches.
type Cache struct {
	Level int    `json:"level"`
	Bytes uint64 `json:"bytes"`
}

// Numa are the figures of one sample of `gorun numa`: a row, measured by a process of its own. The sample's seconds are
// those of the timed loop.
type Numa struct {
	NumaRow
	Accesses    uint64  `json:"accesses"` // in all repetitions
	Repetitions int     `json:"repetitions"`
	NsPerAccess float64 `json:"ns_per_access"`
	// Wall time of the accesses before the first repetition, which do not count.
	SettledSeconds float64 `json:"settled_seconds"`
	IndexNs        float64 `json:"index_ns"` // time of computing the index of an access, measured without memory

	Repeated      Distribution       `json:"repetition_seconds"`
	PageBytes     map[string]uint64  `json:"page_bytes,omitempty"` // resident bytes by size of the page in bytes (smaps)
	NodePages     map[string]int     `json:"node_pages,omitempty"` // pages by node (move_pages), when the loop had ended
	BalancingRead *int               `json:"numa_balancing_read,omitempty"`
	PreferredRead *int               `json:"preferred_node_read,omitempty"`
	CPUShare      map[string]float64 `json:"cpu_share,omitempty"`  // share of the time that the probe spent on each CPU
	NodeShare     map[string]float64 `json:"node_share,omitempty"` // share of the time that the probe spent on each node

	TouchedPages map[string]int `json:"touched_pages,omitempty"` // pages by node, just after each was written to
	Settling     *NumaPhase     `json:"settling,omitempty"`      // the accesses before the first repetition
	Settled      *NumaPhase     `json:"settled,omitempty"`       // the repetitions
	Unread       *Warning       `json:"unread,omitempty"`        // why phases lack what NUMA balancing did

	Migrations     *Migrations `json:"migrations,omitempty"`      // during the repetitions
	LifeMigrations *Migrations `json:"life_migrations,omitempty"` // from the start of the thread to its end
	Load           *NumaLoad   `json:"load,omitempty"`
}

// NumaPhase is a part of the probe's life.
type NumaPhase struct {
	NsPerAccess float64 `json:"ns_per_access"`

	// At the end of the phase, from the thread's /proc/thread-self/sched, by its names; null: not known.
	ScanSeq       *int `json:"numa_scan_seq"` // passes of NUMA balancing over the process's memory, skipped areas included
	PagesMigrated *int `json:"numa_pages_migrated"`
	PreferredNID  *int `json:"numa_preferred_nid"`

	// Page faults in the buffer, which is resident, so that they are those of NUMA balancing; null: not known.
	BufferFaults *uint64 `json:"buffer_faults"`
	FaultsLost   uint64  `json:"faults_lost"` // further faults, at unknown addresses

	BufferMoved *int           `json:"buffer_pages_moved"` // pages of the buffer that moved to another node
	NodePages   map[string]int `json:"node_pages,omitempty"`
}

// Load holds the figures of one sample of `gorun numa --load-only`.
type Load struct {
	Load *NumaLoad `json:"load"`
}

// NumaLoad is the load during the probe, in percent of a CPU.
type NumaLoad struct {
	Requested float64       `json:"requested"`
	CPUs      []NumaLoadCPU `json:"cpus"`
}

// NumaLoadCPU is the load on one CPU.
type NumaLoadCPU struct {
	CPU      int     `json:"cpu"`
	Achieved float64 `json:"achieved"`
	Expected float64 `json:"expected"` // at least: the requested load, or less if the probe used the CPU
}
