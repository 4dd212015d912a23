package result

// PairRow is a pair that `gorun pair` measures, or a relation that no two CPUs of the run have.
type PairRow struct {
	CPUA        int    `json:"cpu_a"` // -1: there is no pair
	CPUB        int    `json:"cpu_b"`
	Relation    string `json:"relation"`
	Loops       uint64 `json:"loops"`             // of each process; round trips if the two talk
	Unavailable string `json:"lacking,omitempty"` // why there is no pair
}

// PeakRSS is the peak resident memory of the processes of a command.
type PeakRSS struct {
	MaxRSSBytes      *uint64 `json:"max_rss_bytes" figure:"B,lower,bench=peak-RSS-bytes" label:"peak memory" is:"The greatest resident memory of any of its processes; absent where it is not above max_rss_floor_bytes."`
	MaxRSSFloorBytes uint64  `json:"max_rss_floor_bytes" figure:"B,hidden,csv=0" is:"The memory of each process at its start, when it is still gorun: a lower bound of max_rss_bytes."` // a lead of the struct is for the peak
}

// Has reports whether a column is known: the peak is not, if it is not above the floor.
func (p *PeakRSS) Has(column string) bool {
	return column != MaxRSS || p.MaxRSSBytes != nil && *p.MaxRSSBytes > p.MaxRSSFloorBytes
}

// Dedicated lists what was moved off a CPU for a command, or would be, and what was left there.
type Dedicated struct {
	CPU        int      `json:"cpu" is:"The CPU that the threads of other processes were moved off."`
	Processes  int      `json:"processes" figure:"count" is:"The processes whose threads were moved off that CPU."`
	Threads    int      `json:"threads" figure:"count" is:"The threads that were moved off that CPU."`
	Interrupts int      `json:"interrupts" figure:"count" is:"The interrupts that were moved off that CPU."`
	Changed    int      `json:"changed" figure:"count" is:"The moved threads to which another program gave other CPUs meanwhile."`
	Left       []LeftOn `json:"left"`
}

// LeftOn holds the threads or interrupts that were left on a CPU for the same reason.
type LeftOn struct {
	What  string   `json:"what"` // thread, kernel thread, interrupt
	Why   string   `json:"why"`
	Count int      `json:"count"`
	Names []string `json:"names,omitempty"` // of a plan
}

// Lines holds ways to give a command a setting (package apply). One that is absent cannot give it its CPUs or its memory, or has
// nothing to set.
type Lines struct {
	Gorun      string            `json:"gorun,omitempty"`   // before the command
	Taskset    string            `json:"taskset,omitempty"` // before the command
	Numactl    string            `json:"numactl,omitempty"` // before the command
	Systemd    []string          `json:"systemd,omitempty"` // of a unit's [Service] (systemd.exec(5))
	Docker     string            `json:"docker,omitempty"`  // before the image
	Kubernetes string            `json:"kubernetes,omitempty"`
	Pod        []string          `json:"pod,omitempty"`   // of a container
	Go         []string          `json:"go,omitempty"`    // of the program's main
	Lacks      map[string]string `json:"lacks,omitempty"` // what a way cannot express, by its name

	// Now has the commands that give it to a program that runs, by the name of the way. The others are for its next start then.
	Now map[string][]string `json:"now,omitempty"`

	Copies []CopyLines `json:"copies,omitempty"` // of copies that have CPUs of their own: then the rest is absent
}

// CopyLines holds ways to give copies of a command their setting.
type CopyLines struct {
	Copies string `json:"copies"` // their numbers, from 0, as a list
	Lines  Lines  `json:"lines"`
}

// PlanBind holds the trials of `gorun bind`.
type PlanBind struct {
	CPUs  []int    `json:"cpus"`            // that each process is bound to; -1: several
	Masks []string `json:"masks,omitempty"` // of --masks: the kernel list of each process
	Order []bool   `json:"order"`           // whether each trial is bound
}
