package contend

import "gorun/internal/result"

// Figures are the figures of one sample of `gorun contend`: a row, and the work of its threads. Times are in
// nanoseconds.
type Figures struct {
	result.ContendRow
	result.OwnProcess
	Variant string `json:"variant,omitempty"` // of the instruction: "lse", "llsc"
	Mode    string `json:"mode"`              // ByCount or ByTime

	NsPerOp        float64  `json:"ns_per_op"` // mean of the threads
	Min            float64  `json:"min"`       // of the threads' ns per operation
	Max            float64  `json:"max"`
	Stdev          float64  `json:"stdev"`            // of the threads, divided by n - 1; 0 for one
	Fairness       float64  `json:"fairness"`         // Jain's index of the threads' rates: 1 if all are equal, 1/n if one thread gets everything
	FairnessMinMax float64  `json:"fairness_min_max"` // the slowest thread's rate over the fastest's
	OpsPerSecond   float64  `json:"ops_per_second"`   // total of all threads
	Operations     uint64   `json:"operations"`
	Failures       *uint64  `json:"failures,omitempty"` // compare-and-swaps that found another value
	MemNodeRead    *int     `json:"mem_node_read,omitempty"`
	Overlap        *float64 `json:"together,omitempty"` // part of the time in which all threads ran: of the windows, or of a count's length

	Windows      int                  `json:"windows,omitempty"`       // windows in which all threads ran: only these count
	WindowsOf    int                  `json:"windows_of,omitempty"`    // windows in all
	WindowsNs    *result.Distribution `json:"windows_ns,omitempty"`    // mean ns per operation of each window that counts
	WindowNs     float64              `json:"window_ns,omitempty"`     // length of a window
	CountPerCPU  uint64               `json:"count,omitempty"`         // requested operations of each thread
	ReleasedNs   *float64             `json:"released_ns,omitempty"`   // between the first and the last thread's start
	FixedSeconds float64              `json:"fixed_seconds,omitempty"` // of the row outside its operations: placing, verifying, the barrier

	Threads []Thread `json:"threads"`
}

// The modes of a row.
const (
	ByCount = "count" // each thread makes a fixed number of operations; at the end, some run alone
	ByTime  = "time"  // windows of time; only those in which all threads ran count
)

// Thread is one thread of a row.
type Thread struct {
	CPU        int     `json:"cpu"`
	Node       int     `json:"node"`
	NsPerOp    float64 `json:"ns_per_op"`
	Operations uint64  `json:"operations"` // that count
	Failures   *uint64 `json:"failures,omitempty"`
	Seconds    float64 `json:"seconds"`  // that count
	CPUSeen    int     `json:"cpu_seen"` // at the end, as the kernel reports it; -1: unknown
}
