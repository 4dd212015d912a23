package numa

import (
	"gorun/internal/record/column"
	"gorun/internal/record/result"
)

// Figures are the figures of one sample of `gorun numa`: a row, measured by a process of its own. The sample's seconds are
// those of the timed loop.
type Figures struct {
	result.NumaRow
	NsPerAccess    float64 `json:"ns_per_access" figure:"ns,lower,csv=9,bench=ns/op,rank=1" label:"time of an access" is:"The mean time of an access, including the generation of its index."`
	IndexNs        float64 `json:"index_ns" figure:"ns,lower,csv=10,verbose" group:"Making the random index of an access" label:"index" is:"The part of an access that generating its index takes, measured without memory."`
	Accesses       uint64  `json:"accesses" figure:"number,csv=11,repeats,verbose" is:"The accesses in all repetitions."`
	Repetitions    int     `json:"repetitions" figure:"count,csv=12,verbose" is:"The repetitions of the timed loop."`
	SettledSeconds float64 `json:"settled_seconds" figure:"s,csv=13,verbose" is:"The time of the accesses before the first repetition, which do not count."`

	BalancingRead *int              `json:"numa_balancing_read,omitempty" figure:",verbose" is:"NUMA balancing, read back."`
	PreferredRead *int              `json:"preferred_node_read,omitempty" figure:",verbose" is:"The preferred node, read back; -1: none."`
	PageBytes     map[uint64]uint64 `json:"page_bytes,omitempty" figure:"B" is:"Resident bytes, by the size of the page."`                                    // smaps
	NodePages     map[int]int       `json:"node_pages,omitempty" figure:"count" group:"Pages of the buffer" label:"node" is:"Pages by node, after the loop."` // move_pages
	CPUShare      map[int]float64   `json:"cpu_share,omitempty" figure:"share" is:"The part of the time that the probe was on each CPU."`
	NodeShare     map[int]float64   `json:"node_share,omitempty" figure:"share" group:"Share of the time on each node" label:"node" is:"The part of the time that the probe was on each node."`

	Load       *result.Load        `json:"load,omitempty" is:" next to the probe"`
	Repeated   result.Distribution `json:"repetition_seconds" figure:"s,lower,verbose" is:"The time of a repetition"`
	Migrations *result.Migrations  `json:"migrations,omitempty" figure:",hidden" group:"Migrations"`                                                  // during the repetitions
	Settling   *Phase              `json:"settling,omitempty" figure:",hidden" group:"NUMA balancing while the probe settled" is:" while it settled"` // the accesses before the first repetition
	Settled    *Phase              `json:"settled,omitempty" figure:",hidden" group:"NUMA balancing after that" prefix:""`                            // the repetitions

	// These have no columns.
	TouchedPages   map[int]int        `json:"touched_pages,omitempty" figure:"-"`   // pages by node, just after each was written to
	Unread         *result.Warning    `json:"unread,omitempty" figure:"-"`          // why phases lack what NUMA balancing did
	LifeMigrations *result.Migrations `json:"life_migrations,omitempty" figure:"-"` // from the start of the thread to its end
}

// Phase is a part of the probe's life.
type Phase struct {
	// At the end of the phase, from the thread's /proc/thread-self/sched, by its names; null: not known. Areas that NUMA
	// balancing skips count as scanned.
	ScanSeq       *int `json:"numa_scan_seq" figure:"count" label:"passes" is:"Passes of NUMA balancing over the process's memory, by then%s."`
	PagesMigrated *int `json:"numa_pages_migrated" figure:"count" label:"pages moved by then" is:"Pages that NUMA balancing had moved after a fault of the probe, by then%s."`
	PreferredNID  *int `json:"numa_preferred_nid" figure:"count" label:"preferred node" is:"The node that NUMA balancing had chosen for the probe by then; -1: none%s."`

	// The buffer is resident, so that its page faults are those of NUMA balancing; null: not known.
	BufferFaults *uint64     `json:"buffer_faults" figure:"count" label:"faults in the buffer" is:"Page faults in the buffer, which are those of NUMA balancing%s."`
	BufferMoved  *int        `json:"buffer_pages_moved" figure:"count" label:"its pages moved" is:"Pages of the buffer that moved to another node%s."`
	NsPerAccess  float64     `json:"ns_per_access" figure:"ns" label:"an access" is:"The mean time of an access%s."`
	FaultsLost   uint64      `json:"faults_lost" figure:"-"` // further faults, at unknown addresses
	NodePages    map[int]int `json:"node_pages,omitempty" figure:"-"`
}

// Has reports whether a figure is known. If no probe ran, only the row and the load are.
func (f *Figures) Has(column string) bool {
	return f.Access != "" || column == "row" || column == "load_requested"
}

var (
	columns = column.Of[Figures]().After("node_share", column.Computed(column.Column{
		Name: "mem_node_share", Unit: column.Share, Better: column.Higher,
		Meaning: "The part of the time that the probe was on its memory's node; memory on several nodes is weighted by its pages.",
	}, memShare))
	perAccess = columns.Get("ns_per_access") // by which cells are compared
)

// memShare returns the part of the time that the probe was on its memory's node; nil: unknown. If the memory is on
// several nodes, each is weighted by its part of the pages at the end.
func memShare(f *Figures) *float64 {
	if f.NodeShare == nil {
		return nil
	}
	sum, pages := 0.0, 0
	for node, n := range f.NodePages {
		sum, pages = sum+float64(n)*f.NodeShare[node], pages+n
	}
	if pages == 0 {
		return nil
	}
	return new(sum / float64(pages))
}

// loadOf returns the load during a sample; nil: there was none.
func loadOf(s *result.Sample) *result.Load {
	if f, ok := result.Typed[Figures](s); ok {
		return f.Load
	}
	return nil
}

// count adds the load during a sample to the state of its run.
func count(state *result.State, s *result.Sample) {
	if load := loadOf(s); load != nil {
		state.Totals.Load = load
	}
}
