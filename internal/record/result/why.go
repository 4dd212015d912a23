package result

import (
	"cmp"
	"math"
	"slices"

	"gorun/internal/base/units"
	"gorun/internal/stats"
)

// Why says where the difference of a cell's time from its baseline's is: in which parts of the time, and what else differs that may
// explain them. Its comparisons are a family with an error rate of its own, which decides nothing else.
type Why struct {
	Asked       bool      `json:"-"`           // --why shows it as a table
	Rounds      int       `json:"rounds"`      // on which bets were made
	Comparisons int       `json:"comparisons"` // that share the error rate of the family
	Wall        Part      `json:"wall"`
	Parts       []Part    `json:"parts"`
	Drivers     []Part    `json:"drivers,omitempty"`
	Missing     []Missing `json:"missing,omitempty"` // drivers that were asked for and could not be counted
	Gap         float64   `json:"gap_seconds"`       // of the wall time that the parts leave: typical differences need not add up
	// Cause is the name of the part that holds at least half of the difference, with an interval that leaves out 0. If only several such parts
	// together do, it is that of the driver that may explain all of these. "": there is none, or no difference was claimed.
	Cause string `json:"cause,omitempty"`
	// Along has, of a claim about another figure than the wall time, where that does not differ in the same direction, the names of the parts and
	// drivers that are known to differ.
	Along []string `json:"along,omitempty"`
	// ExplainedBy has the names of the drivers that may explain the cause: of a time, at least half of the difference; of a count, more than in
	// proportion to the wall time, or to the driver that Per names. Instructions and a clock may explain as much of the time as they change in
	// proportion.
	ExplainedBy []string   `json:"explained_by,omitempty"`
	Confirmed   *Confirmed `json:"confirmed,omitempty"` // nil: that was not asked for, or there is no cause
}

// Missing is a driver that was asked for and not counted.
type Missing struct {
	Label   string `json:"label"`
	Answers string `json:"answers"`       // what it would have said
	Rounds  int    `json:"rounds"`        // in which it was not counted
	Why     string `json:"why,omitempty"` // "": not known
}

// Part is the difference of a part of the time, or of what may explain one (a driver).
type Part struct {
	Name     string   `json:"name"`
	Label    string   `json:"label"`
	Unit     string   `json:"unit"`                      // WhySeconds, WhyCount, WhyShare, WhyMHz or WhyJoules
	Of       []string `json:"of,omitempty"`              // of a driver: the names of the parts that it may explain
	Longest  float64  `json:"longest_seconds,omitempty"` // that one of a count can take; 0: as long as it likes
	Blocks   float64  `json:"blocks_seconds,omitempty"`  // that one of a count can block a thread; 0: as long as it takes
	Per      string   `json:"per,omitempty"`             // of a count: the name of the driver with which it grows; "": with the wall time
	Baseline float64  `json:"baseline"`                  // the median of the baseline's samples
	stats.Shift
}

// The units of a Part.
const (
	WhySeconds = "s"
	WhyCount   = "count"
	WhyShare   = "share" // from 0 to 1
	WhyMHz     = "MHz"
	WhyJoules  = "J"
)

// WhyInstructions is the name of the driver that says how much work there is.
const WhyInstructions = "instructions"

// The names of the parts of the time, as in Account, and of the whole.
const (
	WhyWall    = "wall"
	WhyRunning = "running"
	WhyUser    = "user"
	WhyKernel  = "kernel"
	WhyWaiting = "waiting"
	WhyBlocked = "blocked"
	WhyCPU     = "cpu"

	WhyOthersWaiting = "others_waiting"
)

// Claims returns the direction of the difference that the verdict on a cell claims: 1 if it takes longer or is worse than its baseline, −1 if it
// takes less time or is better, 0 if no difference is claimed. More copies that do not do more in the same time take longer.
func (r *Run) Claims(cell int) float64 {
	v := r.Cells[cell].Verdict
	grows := func(s Step) bool { return s.Cell == cell && s.Work > 1 }
	switch {
	case v == nil:
	case v.Kind == stats.Slower, v.Kind == stats.Stops && slices.ContainsFunc(r.Matrix.Steps, grows):
		return 1
	case v.Kind == stats.Faster:
		return -1
	}
	return 0
}

// ByTime reports whether a cell is judged by its wall time.
func (r *Run) ByTime(cell int) bool {
	return cmp.Or(r.Matrix.Compared, WallColumn) == WallColumn && r.Cells[cell].By == nil
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

// Split reports whether the CPU time is known to be of user mode or of the kernel: their differences are larger than a tick of the
// kernel's clock, by which it tells them apart. Of a shorter time it calls all user mode if no tick came, so that more rounds do not help. Tick
// is the longest that Linux has (CONFIG_HZ=100).
func (w *Why) Split() bool {
	user, kernel := w.Part(WhyUser), w.Part(WhyKernel)
	return user != nil && kernel != nil && max(math.Abs(user.Typical), math.Abs(kernel.Typical)) > Tick
}

// Threads reports whether other threads and processes of the program use more than a little CPU time.
func (w *Why) Threads() bool {
	const little = 0.1 // of the wall time
	cpu, first := w.Part(WhyCPU), w.Part(WhyRunning)
	if cpu == nil || first == nil {
		return false
	}
	others := cpu.Baseline - first.Baseline
	return max(others, others+cpu.Typical-first.Typical) > little*w.Wall.Baseline
}

// half reports whether a part is known to have the direction of the difference, and holds at least half of it.
func (w *Why) half(p *Part) bool {
	return p != nil && p.Clear(w.Wall.Typical) && math.Abs(p.Typical) >= math.Abs(w.Wall.Typical)/2
}

// perhaps reports whether a part seems to hold half of the difference, and may as well be 0.
func (w *Why) perhaps(p *Part) bool {
	return p != nil && !p.Clear(w.Wall.Typical) && p.Typical*w.Wall.Typical > 0 && math.Abs(p.Typical) >= math.Abs(w.Wall.Typical)/2
}

// Conclude sets the gap and, if a difference in this direction is claimed, the cause and what may explain it. byTime: the claim is about the
// wall time.
func (w *Why) Conclude(claims float64, byTime bool) {
	gap := w.Wall.Typical
	var most *Part
	for _, name := range ofWall {
		if p := w.Part(name); p != nil {
			gap -= p.Typical
			if w.half(p) && (most == nil || math.Abs(p.Typical) > math.Abs(most.Typical)) {
				most = p
			}
		}
	}
	w.Gap = Nanoseconds(gap)
	switch {
	case claims == 0:
		return
	case !byTime && !w.Wall.Clear(claims):
		for _, p := range slices.Concat(w.Parts, w.Drivers) {
			if p.Clear(1) || p.Clear(-1) {
				w.Along = append(w.Along, p.Name)
			}
		}
		return
	}
	user, kernel, cpu, waiting := w.Part(WhyUser), w.Part(WhyKernel), w.Part(WhyCPU), w.Part(WhyOthersWaiting)
	if (most == nil || most.Name == WhyBlocked) && w.half(cpu) { // other threads run while the first one is blocked, or work moves between them
		most = cpu
	}
	switch {
	case most == nil:
		if most = w.shared(); most == nil {
			return
		}
	case most.Name == WhyBlocked && w.half(waiting) && w.beyond(waiting, &w.Wall): // while they wait for a CPU
		most = waiting
	case most.Name == WhyBlocked && (w.perhaps(waiting) || w.perhaps(cpu)):
		return
	case most.Name != WhyRunning && most.Name != WhyCPU || !w.Split():
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

// ofWall has the names of the parts that add up to the wall time.
var ofWall = []string{WhyRunning, WhyWaiting, WhyBlocked}

// shared returns the driver that may explain several parts of the wall time, which together hold at least half of the difference; nil: none does.
// A move to another CPU, for example, blocks a thread, and then its caches are cold.
func (w *Why) shared() *Part {
	for i := range w.Drivers {
		p, sum := &w.Drivers[i], 0.0
		for _, part := range w.Shared(p) {
			sum += part.Typical
		}
		if math.Abs(sum) >= math.Abs(w.Wall.Typical)/2 && w.explains(p) {
			return p
		}
	}
	return nil
}

// Shared returns the parts of the wall time that a driver may explain and that are known to have the direction of the difference.
func (w *Why) Shared(driver *Part) (parts []*Part) {
	for _, name := range ofWall {
		if p := w.Part(name); p != nil && slices.Contains(driver.Of, name) && p.Clear(w.Wall.Typical) {
			parts = append(parts, p)
		}
	}
	return parts
}

// explains reports whether a driver may explain the difference of the wall time. A program that runs for longer has more faults and switches,
// and more pressure of other programs, for that reason alone, and one that executes more instructions has more misses. Few events that are short
// cannot take half of the difference. As the instructions or the period of the clock, the time of running changes in proportion.
func (w *Why) explains(p *Part) bool {
	cpu := w.Part(WhyCPU)
	inProportion := func(grown float64) bool {
		return cpu != nil && p.Baseline > 0 && math.Abs(grown*cpu.Baseline) >= math.Abs(w.Wall.Typical)/2
	}
	switch {
	case p.Unit == WhyShare: // of the memory: accesses to it can have at most this share of the longer time
		longer := w.Wall.Baseline + max(0, w.Wall.Typical)
		return p.Clear(w.Wall.Typical) && math.Abs(p.Typical)*longer >= math.Abs(w.Wall.Typical)/2
	case p.Unit == WhyMHz:
		return p.Clear(-w.Wall.Typical) && inProportion(p.Typical/(p.Baseline+p.Typical))
	case p.Name == WhyInstructions:
		return p.Clear(w.Wall.Typical) && inProportion(p.Typical/p.Baseline)
	}
	longest := p.Longest
	if w.Cause == WhyBlocked && p.Blocks > 0 {
		longest = p.Blocks
	}
	if p.Unit == WhySeconds && !w.half(p) || longest > 0 && longest*math.Abs(p.Typical) < math.Abs(w.Wall.Typical)/2 {
		return false
	}
	per := &w.Wall
	if named := w.Part(p.Per); named != nil {
		per = named
	}
	return w.beyond(p, per)
}

// beyond reports whether a part differs in the direction of the difference, and by more than in proportion to another figure.
func (w *Why) beyond(p, per *Part) bool {
	return per.Baseline > 0 && p.Clear(w.Wall.Typical) && p.Beyond(p.Baseline*per.Typical/per.Baseline, w.Wall.Typical)
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
	switch {
	case p.Unit == WhySeconds:
		return units.Seconds(x)
	case p.Unit == WhyShare:
		return units.Share(x)
	case p.Unit == WhyCount && math.Abs(x) >= 1e6:
		return units.Large(x)
	case p.Unit == WhyCount:
		return units.Digits(x)
	}
	return units.Digits(x) + " " + p.Unit
}
