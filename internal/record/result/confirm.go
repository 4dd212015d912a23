package result

import (
	"fmt"
	"strings"

	"gorun/internal/base/shell"
	"gorun/internal/base/units"
	"gorun/internal/stats"
)

// Candidate is a flag that takes away what may explain the time of a cell. With --why=confirm, the slower of two cells is also run with it: if
// the difference goes away, it is the cause.
type Candidate struct {
	Cell    int    `json:"cell"` // index of the cell that gets it
	Axis    string `json:"axis"` // the flag
	Value   string `json:"value"`
	Lacking string `json:"lacking,omitempty"` // why gorun may not set it here; "": it may
}

// The axes of candidates: flags of gorun exec.
const (
	AxisSched     = "sched"
	AxisNice      = "nice"
	AxisCPUs      = "cpus"
	AxisMempolicy = "mempolicy"
)

// String returns the flag as it is typed.
func (r Candidate) String() string { return "--" + r.Axis + " " + shell.Quote(r.Value) }

// Confirmed is what the confirming samples say of a cause.
type Confirmed struct {
	Result    string     `json:"result"`              // one of the results below
	Why       string     `json:"reason,omitempty"`    // why it is not known, in words
	Candidate *Candidate `json:"candidate,omitempty"` // that was tried, or may not be set; nil: no flag sets the cause alone
	Rounds    int        `json:"rounds"`              // of confirming samples
	// Share is the share of the difference that goes away with the candidate; nil: neither end is bounded.
	Share *stats.Shift `json:"share,omitempty"`
}

// The results of confirming.
const (
	ConfirmedCause   = "confirmed"     // at least half of the difference goes away
	ConfirmedNot     = "not-the-cause" // less than half of it goes away
	ConfirmedUnknown = "not-known"     // neither is certain
	ConfirmedUntried = "not-tried"
)

// half is the share of the difference that a cause makes at least.
const half = 0.5

// Conclude sets the result that follows from the share.
func (c *Confirmed) Conclude() {
	switch s := c.Share; {
	case s != nil && s.Lo != nil && *s.Lo >= half:
		c.Result = ConfirmedCause
	case s != nil && s.Hi != nil && *s.Hi < half:
		c.Result = ConfirmedNot
	default:
		c.Result = ConfirmedUnknown
	}
}

// Answered reports whether more samples are pointless.
func (c *Confirmed) Answered() bool { return c.Result == ConfirmedCause || c.Result == ConfirmedNot }

// String says what was found in words: "confirmed: --nice -20 for the slower one takes away 92% to 101% of the difference".
func (c *Confirmed) String() string {
	found := ""
	if c.Share != nil {
		found = fmt.Sprintf(": %s for the slower one takes away %s of the difference", c.Candidate, c.Interval())
	}
	switch c.Result {
	case ConfirmedUntried:
		return "not confirmed: " + c.Why
	case ConfirmedCause:
		return "confirmed" + found
	case ConfirmedNot:
		return "not confirmed" + found
	}
	text := fmt.Sprintf("not known whether it is the cause%s, after %s", found, units.Things(c.Rounds, "round"))
	if c.Why != "" {
		text += "; " + c.Why
	}
	return text
}

// far is the share beyond which an end of the interval says nothing to people: it is that of a difference that may be small.
const far = 2

// Interval says the interval of the share in words.
func (c *Confirmed) Interval() string {
	percent := func(end *float64) string { return strings.Replace(fmt.Sprintf("%.0f%%", *end*100), "-", "−", 1) }
	lo, hi := c.Share.Lo, c.Share.Hi
	fromHere, toHere := lo != nil && *lo >= -far, hi != nil && *hi <= far
	switch {
	case fromHere && toHere:
		return percent(lo) + " to " + percent(hi)
	case fromHere:
		return "at least " + percent(lo)
	case toHere:
		return "at most " + percent(hi)
	}
	return "an unknown share"
}
