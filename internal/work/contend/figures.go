package contend

import (
	"gorun/internal/record/column"
	"gorun/internal/record/result"
)

// Figures are the figures of one sample of `gorun contend`: a row, and the work of its threads.
type Figures struct {
	result.ContendRow
	Variant string `json:"variant,omitempty" figure:",key=variant" is:"The variant of the instruction."` // "lse", "llsc"
	Mode    string `json:"mode" figure:",key=mode" is:"How a row ends: count, after a number of operations, or time."`

	NsPerOp        float64  `json:"ns_per_op" figure:"ns,lower,csv=5,bench=ns/op" label:"time of an operation" is:"The mean time of an operation, over the threads."`
	OpsPerSecond   float64  `json:"ops_per_second" figure:"1/s,higher,csv=10,bench=ops/s,rank=5" label:"ops/s" is:"The operations per second of all threads."`
	Min            float64  `json:"min" figure:"ns,lower,csv=6,rank=1" is:"The time of an operation, of the fastest thread."`
	Max            float64  `json:"max" figure:"ns,lower,csv=7,rank=2" is:"The time of an operation, of the slowest thread."`
	Stdev          float64  `json:"stdev" figure:"ns,lower,csv=8,rank=3" is:"The standard deviation of the threads' times of an operation."` // divided by n - 1; 0 for one
	Fairness       float64  `json:"fairness" figure:"ratio,higher,csv=9,bench=fairness,rank=4" label:"fairness" is:"Jain's index of the threads' rates: 1 if all are equal, 1/n if one of n gets everything."`
	FairnessMinMax float64  `json:"fairness_min_max" figure:"ratio,higher,verbose" is:"The rate of the slowest thread divided by that of the fastest."`
	Operations     uint64   `json:"operations" figure:"number,repeats,verbose" is:"The operations of all threads that count."`
	Failures       *uint64  `json:"failures,omitempty" figure:"number,rank=7" is:"The compare-and-swaps that found another value."`
	MemNodeRead    *int     `json:"mem_node_read,omitempty" figure:",verbose" is:"The node of the memory, read back."`
	Overlap        *float64 `json:"together,omitempty" figure:"share,higher,rank=6" label:"all ran" is:"The part of the time in which all threads ran."` // of the windows, or of a count's length

	Windows      int      `json:"windows,omitempty" figure:"count,verbose" is:"The windows of time in which all threads ran; only these count."`
	WindowsOf    int      `json:"windows_of,omitempty" figure:"count,verbose" is:"All windows of time."`
	WindowNs     float64  `json:"window_ns,omitempty" figure:"ns,verbose" is:"The length of a window."`
	CountPerCPU  uint64   `json:"count,omitempty" figure:"number,verbose" is:"The requested operations of each thread."`
	ReleasedNs   *float64 `json:"released_ns,omitempty" figure:"ns,lower,verbose" is:"The time between the starts of the first and of the last thread."`
	FixedSeconds float64  `json:"fixed_seconds,omitempty" figure:"s,verbose" is:"The time of a row that is not spent on operations."` // placing, verifying, the barrier
	result.OwnProcess
	WindowsNs *result.Distribution `json:"windows_ns,omitempty" figure:"ns,lower,verbose" is:"The mean time of an operation in the windows that count"`

	Threads []Thread `json:"threads"`
}

var (
	columns = column.Of[Figures]().After("dist_bytes", column.Computed(column.Column{
		Name: "dist", Meaning: "The distance of --dist, in the unit of dist_by.",
	}, func(f *Figures) *int {
		if f.DistBy == "" {
			return nil
		}
		return &f.Dist
	}))
	perOperation = columns.Get("ns_per_op") // by which cells are compared
)

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
