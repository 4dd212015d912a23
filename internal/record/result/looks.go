package result

// Looks is what was seen of a started program while it ran (--why). Nil: not known.
type Looks struct {
	// ThrottledSeconds is the time for which quotas of control groups that it entered by itself had stopped it, summed over CPUs. What
	// the quotas of gorun's own groups did is among the signals.
	ThrottledSeconds *float64 `json:"throttled_seconds,omitempty"`
}
