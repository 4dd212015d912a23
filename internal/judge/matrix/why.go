package matrix

import (
	"iter"
	"math"

	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// reason is a hypothesis about why the time of a cell differs: the wall time, a part of it, or a driver, which is what may explain parts.
type reason struct {
	name, label string
	unit        string
	of          func(s *result.Sample) float64 // NaN: not known
	parts       []string                       // of a driver: those that it may explain
	longest     float64                        // seconds that one event of a count can take; 0: no limit is known
	axes        []string                       // the flags that set it alone, the best first (result.Candidate); none: no flag does
}

// by returns the row with the flags that set it alone.
func (r reason) by(axes ...string) reason {
	r.axes = axes
	return r
}

// part is a row of a part of the time, which is in nanoseconds.
func part(name, label string, of func(a *result.Account) *uint64) reason {
	return reason{name: name, label: label, unit: result.WhySeconds, of: func(s *result.Sample) float64 {
		return known(of(s.Account)) / 1e9
	}}
}

// counted and timed are rows of drivers.
func counted(name, label string, longest float64, of func(sig *result.Signals) *uint64, parts ...string) reason {
	return reason{name, label, result.WhyCount, func(s *result.Sample) float64 { return known(of(&s.Quality.Signals)) }, parts, longest, nil}
}

func timed(name, label string, of func(sig *result.Signals) *float64, parts ...string) reason {
	return reason{name, label, result.WhySeconds, func(s *result.Sample) float64 { return known(of(&s.Quality.Signals)) }, parts, 0, nil}
}

func known[N uint64 | float64](figure *N) float64 {
	if figure == nil {
		return math.NaN()
	}
	return float64(*figure)
}

// reasons are one family of hypotheses: the wall time, the parts of the time, and then the drivers. To add one, add its row.
var reasons = [...]reason{
	{name: result.WhyWall, label: "wall time", unit: result.WhySeconds, of: func(s *result.Sample) float64 { return s.Seconds }},
	part(result.WhyRunning, "running", func(a *result.Account) *uint64 { return &a.Running }),
	part(result.WhyUser, "in user mode", func(a *result.Account) *uint64 { return a.User() }),
	part(result.WhyKernel, "in the kernel", func(a *result.Account) *uint64 { return a.Kernel }),
	part(result.WhyWaiting, "waiting for a CPU", func(a *result.Account) *uint64 { return &a.Waiting }).by(result.AxisSched, result.AxisNice),
	part(result.WhyBlocked, "blocked", func(a *result.Account) *uint64 { return &a.Blocked }),
	part(result.WhyOthers, "other threads and processes", func(a *result.Account) *uint64 { return &a.Others }),
	counted("minor_faults", "page faults, minor", aFault, func(sig *result.Signals) *uint64 { return sig.MinorFaults }, result.WhyRunning, result.WhyKernel),
	counted("major_faults", "page faults, major", 0, func(sig *result.Signals) *uint64 { return sig.MajorFaults }, result.WhyBlocked),
	counted("voluntary_switches", "switches, voluntary", 0, func(sig *result.Signals) *uint64 { return sig.VoluntarySwitches }, result.WhyBlocked),
	counted("involuntary_switches", "switches, involuntary", 0, func(sig *result.Signals) *uint64 { return sig.InvoluntarySwitches }, result.WhyWaiting).
		by(result.AxisSched, result.AxisNice),
	counted("migrations", "migrations of threads", aMove, func(sig *result.Signals) *uint64 { return sig.Migrations },
		result.WhyRunning, result.WhyUser, result.WhyKernel, result.WhyWaiting).by(result.AxisCPUs),
	timed("throttled_seconds", "throttled by the quota", func(sig *result.Signals) *float64 { return sig.ThrottledSeconds }, result.WhyBlocked, result.WhyWaiting),
	timed("cpu_pressure_seconds", "CPU pressure", func(sig *result.Signals) *float64 { return sig.CPUPressureSeconds }, result.WhyWaiting).
		by(result.AxisSched, result.AxisNice),
	timed("steal_seconds", "steal by the hypervisor", func(sig *result.Signals) *float64 { return sig.StealSeconds },
		result.WhyRunning, result.WhyWaiting, result.WhyBlocked),
}

const firstDriver = 7 // in reasons

// The longest times, in seconds, that single events take: to clear a huge page of 2 MiB, and to fill the second-level cache of another CPU.
const (
	aFault = 0.0005
	aMove  = 0.001
)

// The shares of the family's error rate. Running, waiting and blocked name the cause, and are known after as many rounds as the wall time is.
const (
	mainShare    = 0.6 // of running, waiting and blocked
	furtherShare = 0.2 // of the wall time and the other parts
	driversShare = 0.2
	mainParts    = 3
)

// whyAlpha is the error of a hypothesis about one cell, of a family that has this much for each cell.
func whyAlpha(hypothesis int, alpha float64) float64 {
	switch name := reasons[hypothesis].name; {
	case hypothesis >= firstDriver:
		return driversShare * alpha / float64(len(reasons)-firstDriver)
	case name == result.WhyRunning, name == result.WhyWaiting, name == result.WhyBlocked:
		return mainShare * alpha / mainParts
	}
	return furtherShare * alpha / float64(firstDriver-mainParts)
}

// byReason holds the figures of a sample; NaN: not known.
type byReason [len(reasons)]float64

// why collects the differences of a cell from its baseline, by hypothesis.
type why struct {
	differences [len(reasons)]*stats.Differences
	baseline    [len(reasons)][]float64
}

// leastSeconds is a difference of times that nobody asks for.
const leastSeconds = 1e-9

func newWhy(alpha float64) *why {
	w := &why{}
	for i, r := range reasons {
		least := leastSeconds
		if r.unit == result.WhyCount {
			least = 0.01
		}
		w.differences[i] = stats.NewDifferences(whyAlpha(i, alpha), least)
	}
	return w
}

// add adds the figures of a block: of the cell, of the baseline and of its duplicate. One that a sample of the block lacks leaves the block
// out for that figure. It reports whether this was the last block that is used.
func (w *why) add(cell, base, duplicate byReason, lacked [len(reasons)]bool) (last bool) {
	if w.differences[0].Rounds() == stats.MostDifferences {
		return false
	}
	for i := range reasons {
		if !lacked[i] {
			w.differences[i].Add(cell[i]-base[i], cell[i]-duplicate[i])
			w.baseline[i] = append(w.baseline[i], base[i])
		}
	}
	return w.differences[0].Rounds() == stats.MostDifferences
}

// found returns what the differences say. comparisons is the number of hypotheses of the run.
func (w *why) found(comparisons int, claimed bool) *result.Why {
	of := &result.Why{Rounds: w.differences[0].Rounds(), Comparisons: comparisons}
	for i, r := range reasons {
		if w.differences[i].Rounds() == 0 {
			continue
		}
		p := result.Part{
			Name: r.name, Label: r.label, Unit: r.unit, Of: r.parts, Longest: r.longest,
			Baseline: stats.Median(w.baseline[i]), Shift: w.differences[i].Found(),
		}
		switch {
		case i == 0:
			of.Wall = p
		case i < firstDriver:
			of.Parts = append(of.Parts, p)
		default:
			of.Drivers = append(of.Drivers, p)
		}
	}
	of.Conclude(claimed)
	return of
}

// Explain says of the cells whose wall time is claimed to differ, or of all cells, in which parts of the time they differ from their
// baselines. It decides nothing else. Samples without an account explain nothing.
func Explain(run *result.Run, all bool) {
	if run.Matrix == nil {
		return
	}
	whys := explain(run, all)
	for i := range run.Cells {
		run.Cells[i].Why = whys[i]
	}
	confirm(run)
}

// comparedCells returns the number of cells that are compared with a baseline.
func comparedCells(run *result.Run) (n int) {
	for i := range run.Cells {
		if run.Against(i) != i {
			n++
		}
	}
	return n
}

// cellAlpha is the error of one cell in a family of all cells.
func cellAlpha(run *result.Run) float64 { return run.Matrix.Alpha / float64(comparedCells(run)) }

// explain returns where the differences of cells are, by cell.
func explain(run *result.Run, all bool) map[int]*result.Why {
	of, whys := map[int]*result.Why{}, map[int]*why{}
	for i := range run.Cells {
		if run.Against(i) != i && (all || run.ClaimsTime(i)) {
			whys[i] = nil
		}
	}
	if len(whys) == 0 {
		return of
	}
	alpha, left := cellAlpha(run), len(whys)
	for block := range accounted(run) {
		for _, s := range block.samples {
			if _, asked := whys[s.cell]; !asked || s.control {
				continue
			}
			base, duplicate := block.of(run.Against(s.cell), false), block.of(run.Against(s.cell), true)
			if base == nil || duplicate == nil { // it is a baseline here, or the block was not finished
				continue
			}
			if whys[s.cell] == nil {
				whys[s.cell] = newWhy(alpha)
			}
			if w := whys[s.cell]; w.add(s.figures, base.figures, duplicate.figures, block.lacked) {
				left--
			}
		}
		if left == 0 {
			break
		}
	}
	for i, w := range whys {
		if w != nil {
			of[i] = w.found(comparedCells(run)*len(reasons), run.ClaimsTime(i))
		}
	}
	return of
}

// accountedSample is what Explain needs of a sample.
type accountedSample struct {
	cell    int
	control bool
	figures byReason
}

// accountedBlock is a block in which each sample is valid and has an account: as for the verdicts, another one is left out completely.
type accountedBlock struct {
	samples []accountedSample
	lacked  [len(reasons)]bool // figures that a sample lacks
}

func (b *accountedBlock) of(cell int, control bool) *accountedSample {
	for i := range b.samples {
		if s := &b.samples[i]; s.cell == cell && s.control == control {
			return s
		}
	}
	return nil
}

// accounted returns the blocks of a run. A block lasts until the next one.
func accounted(run *result.Run) iter.Seq[*accountedBlock] {
	return func(yield func(*accountedBlock) bool) {
		var block accountedBlock
		round, number, sound := 0, 0, true
		confirms := false
		for s := range inOrder(run) {
			if s.Slot == nil || s.Partial {
				continue
			}
			if s.Round != round || s.Block != number || s.Confirms != confirms {
				if sound && !yield(&block) {
					return
				}
				block, round, number, confirms, sound = accountedBlock{samples: block.samples[:0]}, s.Round, s.Block, s.Confirms, true
			}
			if sound = sound && !invalid(s) && s.Account != nil; !sound {
				continue
			}
			of := accountedSample{cell: s.Cell, control: s.Control}
			for i, r := range reasons {
				of.figures[i] = r.of(s)
				block.lacked[i] = block.lacked[i] || math.IsNaN(of.figures[i])
			}
			block.samples = append(block.samples, of)
		}
		if sound {
			yield(&block)
		}
	}
}

// inOrder returns the samples of a run in the order in which they were taken, with the confirming ones.
func inOrder(run *result.Run) iter.Seq[*result.Sample] {
	return func(yield func(*result.Sample) bool) {
		next, stop := iter.Pull2(run.Confirming.Each())
		defer stop()
		_, confirming, more := next()
		for _, s := range run.Samples.Each() {
			for ; more && s.Slot != nil && confirming.Elapsed < s.Elapsed; _, confirming, more = next() {
				if !yield(confirming) {
					return
				}
			}
			if !yield(s) {
				return
			}
		}
		for ; more; _, confirming, more = next() {
			if !yield(confirming) {
				return
			}
		}
	}
}
