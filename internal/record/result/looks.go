package result

// Looks is what was seen of a started program while it ran (--why). Nil: not known.
type Looks struct {
	// ThrottledSeconds is the time for which quotas of control groups that it entered by itself had stopped it, summed over CPUs. What
	// the quotas of gorun's own groups did is among the signals.
	ThrottledSeconds *float64 `json:"throttled_seconds,omitempty"`
	Memory           *Memory  `json:"memory,omitempty"` // at the last look at it; nil: there was none
}

// Memory is where a program had its memory at some moment, in bytes, summed over its processes.
type Memory struct {
	Resident   uint64 `json:"resident_bytes,omitempty"`    // on any node; 0: not known, or the machine has one node
	OtherNodes uint64 `json:"other_nodes_bytes,omitempty"` // on nodes other than those of the CPUs on which its threads ran
	Anonymous  uint64 `json:"anonymous_bytes,omitempty"`   // that belongs to no file; 0: not known
	Huge       uint64 `json:"huge_bytes,omitempty"`        // the part of Anonymous in huge pages
}

// OnOtherNodes is the share of the memory on other nodes than the threads; nil: not known.
func (m *Memory) OnOtherNodes() *float64 {
	if m == nil || m.Resident == 0 {
		return nil
	}
	return new(float64(m.OtherNodes) / float64(m.Resident))
}

// InSmallPages is the share of the anonymous memory that is not in huge pages; nil: not known.
func (m *Memory) InSmallPages() *float64 {
	if m == nil || m.Anonymous == 0 {
		return nil
	}
	return new(float64(m.Anonymous-min(m.Anonymous, m.Huge)) / float64(m.Anonymous))
}
