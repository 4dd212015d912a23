package result

import (
	"math"
	"slices"

	"gorun/internal/base/units"
	"gorun/internal/stats"
)

// Why says where the difference of a cell's time from its baseline's is: in which parts of the time, and what else differs that may
// explain them. Its comparisons are a family with an error rate of its own, which decides nothing else.
type Why struct {
	Rounds      int     `json:"rounds"`      // on which bets were made
	Comparisons int     `json:"comparisons"` // that share the error rate of the family
	Wall        Part    `json:"wall"`
	Parts       []Part  `json:"parts"`
	Drivers     []Part  `json:"drivers,omitempty"`
	Gap         float64 `json:"gap_seconds"` // of the wall time that the parts leave: typical differences need not add up
	// Cause is the name of the part that holds at least half of the difference, with an interval that leaves out 0. "": none does, or
	// no difference was claimed.
	Cause string `json:"cause,omitempty"`
	// ExplainedBy has the names of the drivers that may explain the cause: of a time, at least half of the difference; of a count, more than in
	// proportion to the wall time.
	ExplainedBy []string   `json:"explained_by,omitempty"`
	Confirmed   *Confirmed `json:"confirmed,omitempty"` // nil: that was not asked for, or there is no cause
}

// Part is the difference of a part of the time, or of what may explain one (a driver).
type Part struct {
	Name     string   `json:"name"`
	Label    string   `json:"label"`
	Unit     string   `json:"unit"`                      // WhySeconds or WhyCount
	Of       []string `json:"of,omitempty"`              // of a driver: the names of the parts that it may explain
	Longest  float64  `json:"longest_seconds,omitempty"` // that one of a count can take; 0: as long as it likes
	Baseline float64  `json:"baseline"`                  // the median of the baseline's samples
	stats.Shift
}

// The units of a Part.
const (
	WhySeconds = "s"
	WhyCount   = "count"
)

// The names of the parts of the time, as in Account, and of the whole.
const (
	WhyWall    = "wall"
	WhyRunning = "running"
	WhyUser    = "user"
	WhyKernel  = "kernel"
	WhyWaiting = "waiting"
	WhyBlocked = "blocked"
	WhyOthers  = "others"
)

// ClaimsTime reports whether the verdict on a cell is that its wall time differs from its baseline's.
func (r *Run) ClaimsTime(cell int) bool {
	c := r.Cells[cell]
	return r.Matrix.Compared == "" && c.By == nil && c.Verdict != nil && (c.Verdict.Kind == stats.Slower || c.Verdict.Kind == stats.Faster)
}

// Part returns a part of the time or a driver by its name; nil: it is not known.
func (w *Why) Part(name string) *Part {
	for _, parts := range [][]Part{w.Parts, w.Drivers} {
		for i := range parts {
			if parts[i].Name == name {
				return &parts[i]
			}
		}
	}
	return nil
}

// Split reports whether the time on a CPU is known to be of user mode or of the kernel: their differences are larger than a tick of the
// kernel's clock, by which it tells them apart. Of a shorter time it calls all user mode if no tick came, so that more rounds do not help. Tick
// is the longest that Linux has (CONFIG_HZ=100).
func (w *Why) Split() bool {
	user, kernel := w.Part(WhyUser), w.Part(WhyKernel)
	return user != nil && kernel != nil && max(math.Abs(user.Typical), math.Abs(kernel.Typical)) > Tick
}

// Threads reports whether other threads and processes of the program use more than a little CPU time.
func (w *Why) Threads() bool {
	const little = 0.1 // of the wall time
	others := w.Part(WhyOthers)
	return others != nil && max(others.Baseline, others.Baseline+others.Typical) > little*w.Wall.Baseline
}

// half reports whether a part is known to have the direction of the difference, and holds at least half of it.
func (w *Why) half(p *Part) bool {
	return p != nil && p.Clear(w.Wall.Typical) && math.Abs(p.Typical) >= math.Abs(w.Wall.Typical)/2
}

// Conclude sets the gap and, if a difference was claimed, the cause and what may explain it.
func (w *Why) Conclude(claimed bool) {
	gap := w.Wall.Typical
	var most *Part
	for _, name := range []string{WhyRunning, WhyWaiting, WhyBlocked} {
		if p := w.Part(name); p != nil {
			gap -= p.Typical
			if w.half(p) && (most == nil || math.Abs(p.Typical) > math.Abs(most.Typical)) {
				most = p
			}
		}
	}
	w.Gap = Nanoseconds(gap)
	if most == nil || !claimed {
		return
	}
	switch user, kernel, others := w.Part(WhyUser), w.Part(WhyKernel), w.Part(WhyOthers); {
	case most.Name == WhyBlocked && w.half(others): // the first thread was blocked while they ran
		most = others
	case most.Name != WhyRunning || !w.Split():
	case w.half(user) && (!w.half(kernel) || math.Abs(user.Typical) > math.Abs(kernel.Typical)):
		most = user
	case w.half(kernel):
		most = kernel
	}
	w.Cause = most.Name
	for i := range w.Drivers {
		if p := &w.Drivers[i]; slices.Contains(p.Of, w.Cause) && w.explains(p) {
			w.ExplainedBy = append(w.ExplainedBy, p.Name)
		}
	}
}

// explains reports whether a driver may explain the difference of the wall time. A program that runs for longer has more faults and switches,
// and more pressure of other programs, for that reason alone. Few events that are short cannot take half of the difference.
func (w *Why) explains(p *Part) bool {
	if p.Unit == WhySeconds && !w.half(p) || p.Longest > 0 && p.Longest*math.Abs(p.Typical) < math.Abs(w.Wall.Typical)/2 {
		return false
	}
	return w.Wall.Baseline > 0 && p.Beyond(p.Baseline*w.Wall.Typical/w.Wall.Baseline, w.Wall.Typical)
}

// Words says a difference and its interval: "+1.90 ms (+1.80 ms to +2.00 ms)".
func (p Part) Words() string {
	return p.show(p.Typical) + " (" + p.Interval() + ")"
}

// Interval says the interval in words.
func (p Part) Interval() string {
	switch {
	case p.Lo == nil && p.Hi == nil:
		return "not bounded yet"
	case p.Lo == nil:
		return "at most " + p.show(*p.Hi)
	case p.Hi == nil:
		return "at least " + p.show(*p.Lo)
	}
	return p.show(*p.Lo) + " to " + p.show(*p.Hi)
}

// Before says what the baseline has.
func (p Part) Before() string { return p.size(p.Baseline) }

// Centre says the typical difference.
func (p Part) Centre() string { return p.show(p.Typical) }

// show shows a difference, with its sign.
func (p Part) show(x float64) string {
	text := p.size(math.Abs(x))
	switch {
	case x > 0:
		return "+" + text
	case x < 0:
		return "−" + text
	}
	return text
}

func (p Part) size(x float64) string {
	if p.Unit == WhySeconds {
		return units.Seconds(x)
	}
	return units.Digits(x)
}
