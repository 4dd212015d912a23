package bind

import "gorun/internal/record/column"

// Figures are the figures of one sample of `gorun bind`: a trial, whose processes start at the same time. The
// sample's seconds are the mean time of their sums; its user and system seconds are totals.
type Figures struct {
	Bound      bool      `json:"bound" is:"Whether the processes are bound to CPUs."`
	Checks     uint64    `json:"checks" figure:"number" is:"The processes' checks of their CPU."`
	Deviations uint64    `json:"deviations" figure:"number,lower" is:"The checks that found another CPU than the bound one or, unbound, than the previous check."`
	ArrayBytes uint64    `json:"array_bytes" figure:"B" is:"The size of the array of each process."`
	Passes     uint64    `json:"passes" figure:"count" is:"The number of times that each process sums its array."`
	Processes  []Process `json:"processes"`
}

// Process is a process of a trial.
type Process struct {
	Process       int            `json:"process" figure:",csv=1,key=process" is:"The number of the process, from 0."`
	CPU           int            `json:"cpu" figure:",csv=4,key=cpu" words:"-1=any" is:"The CPU that it is bound to; -1: none, or several."`
	CPUs          string         `json:"cpus" is:"The CPUs that it is bound to."` // "": not bound
	Checks        uint64         `json:"checks" figure:"number,csv=6" is:"The process's checks of its CPU."`
	Deviations    uint64         `json:"deviations" figure:"number,csv=5,bench=deviations/op" is:"The checks that found another CPU than the bound one or, unbound, than the previous check."`
	MovedTo       map[int]uint64 `json:"moved_to" figure:"number" is:"The deviations, by the CPU that it was on."`
	Seconds       float64        `json:"seconds" figure:"-"` // of its sum
	UserSeconds   float64        `json:"user_seconds" figure:"-"`
	SystemSeconds float64        `json:"system_seconds" figure:"-"`
	Partial       bool           `json:"partial,omitempty" figure:"-"` // it was cut short
}

// part has the figures of a process of a trial, for formats with a row for each process.
type part struct {
	Bound bool `json:"bound" figure:",csv=3,key=bound" is:"Whether the process is bound to a CPU."`
	Process
	Trial      int    `json:"trial" figure:",csv=2" is:"The number of the trial, from 0."`
	ArrayBytes uint64 `json:"array_bytes" figure:"B,csv=7" is:"The size of its array."`
	Passes     uint64 `json:"passes" figure:"count,csv=8" is:"The number of times that it sums the array."`
}

var (
	columns     = column.Join(column.Times, column.Of[Figures]())
	partColumns = column.Of[part]().After("cpus", column.Wall)
)
