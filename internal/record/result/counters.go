package result

import "gorun/internal/base/hint"

// Counters are what is counted of a started program only if --why asks for it. A figure that is nil was not counted.
type Counters struct {
	// Events of the CPU, of all threads of the program and of its descendants, from its execve(2) on (perf_event_open(2)).
	Cycles       *uint64 `json:"cycles,omitempty"`
	Instructions *uint64 `json:"instructions,omitempty"`
	BranchMisses *uint64 `json:"branch_misses,omitempty"`
	CacheMisses  *uint64 `json:"cache_misses,omitempty"` // of the cache that PERF_COUNT_HW_CACHE_MISSES stands for
	TLBMisses    *uint64 `json:"tlb_misses,omitempty"`   // of loads of data
	// The first level of top-down analysis: slots in which the CPU can start an operation, by what became of them (tools/perf/Documentation/topdown.txt).
	Retiring       *uint64 `json:"slots_retiring,omitempty"`
	BadSpeculation *uint64 `json:"slots_bad_speculation,omitempty"`
	FrontendBound  *uint64 `json:"slots_frontend_bound,omitempty"`
	BackendBound   *uint64 `json:"slots_backend_bound,omitempty"`
	// CountedSeconds is the time in which threads ran and their cycles were counted, a sum over the threads.
	CountedSeconds float64 `json:"counted_seconds,omitempty"`
	UserOnly       bool    `json:"user_only,omitempty"` // events in the kernel are left out, because this user may not count them
	Lacks          []Lack  `json:"lacks,omitempty"`     // why figures are nil

	// Moves of threads between CPUs, by the relation of the two. nil: not counted, or this machine has no such CPUs.
	SameCoreMoves  *uint64 `json:"same_core_moves,omitempty"`
	SameLLCMoves   *uint64 `json:"same_llc_moves,omitempty"`
	SameNodeMoves  *uint64 `json:"same_node_moves,omitempty"`
	CrossNodeMoves *uint64 `json:"cross_node_moves,omitempty"`

	// InterruptSeconds is the CPU time of interrupts on the allowed CPUs. Of a sample that is too short for the ticks of /proc/stat, it is not known.
	InterruptSeconds *float64 `json:"interrupt_seconds,omitempty"`
	// The time in which some task of the machine waited for a device of storage, or for memory (PSI).
	IOPressureSeconds     *float64 `json:"io_pressure_seconds,omitempty"`
	MemoryPressureSeconds *float64 `json:"memory_pressure_seconds,omitempty"`
	// Joules is the energy that the machine's packages used while the signals were counted, also for other programs.
	Joules *float64 `json:"joules,omitempty"`
}

// Lack says why some figures of Counters are not known.
type Lack struct {
	Of  []string `json:"of"` // their names in JSON
	Why string   `json:"why"`
}

// Lacking notes why a figure is not known: the words of an error and of its hint.
func (c *Counters) Lacking(figure string, err error) {
	why := err.Error()
	if way := hint.Of(err); way != "" {
		why += " (" + way + ")"
	}
	for i := range c.Lacks {
		if l := &c.Lacks[i]; l.Why == why {
			l.Of = append(l.Of, figure)
			return
		}
	}
	c.Lacks = append(c.Lacks, Lack{[]string{figure}, why})
}

// MHz is the clock of the CPUs while they ran the program: its cycles over the time in which it ran. nil: not known.
func (c *Counters) MHz() *float64 {
	if c.Cycles == nil || c.UserOnly || c.CountedSeconds <= 0 {
		return nil
	}
	return new(float64(*c.Cycles) / c.CountedSeconds / 1e6)
}
