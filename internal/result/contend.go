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

// Contend are the figures of one sample of `gorun contend`: a row, and what its threads did. Times are in nanoseconds.
type Contend struct {
	ContendRow
	OwnProcess
	Variant string `json:"variant,omitempty"` // of the instruction: "lse", "llsc"
	Mode    string `json:"mode"`              // one of ContendModes

	NsPerOp        float64  `json:"ns_per_op"` // mean of the threads
	Min            float64  `json:"min"`       // of the threads' ns per operation
	Max            float64  `json:"max"`
	Stdev          float64  `json:"stdev"`            // of the threads, divided by n - 1; 0 for one
	Fairness       float64  `json:"fairness"`         // Jain's index of the threads' rates: 1 when all are the same, 1/n when one has all
	FairnessMinMax float64  `json:"fairness_min_max"` // the slowest thread's rate over the fastest's
	OpsPerSecond   float64  `json:"ops_per_second"`   // of all threads together
	Operations     uint64   `json:"operations"`
	Failures       *uint64  `json:"failures,omitempty"` // compare-and-swaps that found another value
	MemNodeRead    *int     `json:"mem_node_read,omitempty"`
	Together       *float64 `json:"together,omitempty"` // part of the time in which all threads ran: of the windows, or of a count's length

	Windows      int           `json:"windows,omitempty"`       // of time, in which all threads ran: only these count
	WindowsOf    int           `json:"windows_of,omitempty"`    // windows in all
	WindowsNs    *Distribution `json:"windows_ns,omitempty"`    // mean ns per operation of each window that counts
	WindowNs     float64       `json:"window_ns,omitempty"`     // length of a window
	CountPerCPU  uint64        `json:"count,omitempty"`         // operations asked of each thread
	ReleasedNs   *float64      `json:"released_ns,omitempty"`   // between the first and the last thread's start
	FixedSeconds float64       `json:"fixed_seconds,omitempty"` // of the row beside its operations: placing, verifying, the barrier

	Threads []ContendThread `json:"threads"`
}

// The modes of a row.
const (
	ByCount = "count" // each thread makes so many operations; at the end, some run alone
	ByTime  = "time"  // windows of time; only those in which all threads ran count
)

// ContendThread is one thread of a row.
type ContendThread struct {
	CPU        int     `json:"cpu"`
	Node       int     `json:"node"`
	NsPerOp    float64 `json:"ns_per_op"`
	Operations uint64  `json:"operations"` // that count
	Failures   *uint64 `json:"failures,omitempty"`
	Seconds    float64 `json:"seconds"`  // that count
	CPUSeen    int     `json:"cpu_seen"` // where it was at the end, as the kernel says; -1: not known
}

// Pair are the figures of one sample of `gorun c2c`: a cache line handed back and forth between two CPUs.
type Pair struct {
	OwnProcess
	CPUA        int          `json:"cpu_a"`
	CPUB        int          `json:"cpu_b"`
	NodeA       int          `json:"node_a"`
	NodeB       int          `json:"node_b"`
	Relation    string       `json:"relation"` // topology.Relation
	Method      string       `json:"method"`
	NS          float64      `json:"ns"`            // one way: the median over the batches
	RoundTripNS float64      `json:"round_trip_ns"` // there and back
	OneWay      Distribution `json:"one_way_ns"`    // over the batches
	Batches     int          `json:"batches"`
	RoundTrips  uint64       `json:"round_trips"`         // in all batches
	HomeNode    *int         `json:"home_node,omitempty"` // of the line's page, read back
}

// PlanPairs is what `gorun c2c --dry-run` shows.
type PlanPairs struct {
	Which     string         `json:"which"` // all, per-core, per-llc
	Pairs     int            `json:"pairs"`
	Relations map[string]int `json:"relations"` // pairs by relation
	Seconds   float64        `json:"seconds"`   // of each pair
	Estimate  float64        `json:"estimate_seconds"`
}
