package matrix

import (
	"iter"
	"math"
	"slices"

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
	blocks      float64                        // seconds that one can block a thread; 0: as long as it takes
	per         string                         // of a count: the driver with which it grows; "": with the wall time
	event       bool                           // of the CPU: perhaps only those in user mode are counted
	answers     string                         // what it would say; "": nobody misses it
}

// part is a row of a part of the time, which is in nanoseconds.
func part(name, label string, of func(a *result.Account) *uint64) reason {
	return reason{name: name, label: label, unit: result.WhySeconds, of: func(s *result.Sample) float64 {
		if s.Account == nil {
			return math.NaN()
		}
		return known(of(s.Account)) / 1e9
	}}
}

// counted and timed are rows of drivers.
func counted(name, label string, longest float64, of func(sig *result.Signals) *uint64, parts ...string) reason {
	return reason{
		name: name, label: label, unit: result.WhyCount, parts: parts, longest: longest,
		of: func(s *result.Sample) float64 { return known(of(&s.Quality.Signals)) },
	}
}

func timed(name, label string, of func(sig *result.Signals) *float64, parts ...string) reason {
	return reason{
		name: name, label: label, unit: result.WhySeconds, parts: parts,
		of: func(s *result.Sample) float64 { return known(of(&s.Quality.Signals)) },
	}
}

// looked is the row of a driver that is only seen with --why, while a program runs.
func looked(name, label, unit string, of func(l *result.Looks) *float64, parts ...string) reason {
	return reason{name: name, label: label, unit: unit, parts: parts, of: func(s *result.Sample) float64 {
		if s.Looks == nil {
			return math.NaN()
		}
		return known(of(s.Looks))
	}}
}

// ofCounters gets a figure that is only counted with --why.
func ofCounters[N uint64 | float64](of func(c *result.Counters) *N) func(s *result.Sample) float64 {
	return func(s *result.Sample) float64 {
		if s.Counters == nil {
			return math.NaN()
		}
		return known(of(s.Counters))
	}
}

// counter is the row of a driver that is only counted with --why.
func counter[N uint64 | float64](name, label, unit string, longest float64, of func(c *result.Counters) *N, parts ...string) reason {
	return reason{name: name, label: label, unit: unit, parts: parts, longest: longest, of: ofCounters(of)}
}

// moves is the row of moves to another CPU. A thread that moves by its affinity is blocked until the kernel has moved it; then its caches are cold.
func moves(name, label string, longest float64, of func(s *result.Sample) float64) reason {
	return reason{name: name, label: label, unit: result.WhyCount, parts: ofMoves, longest: longest, blocks: aMigration, of: of}
}

// event is the row of an event of the CPU. Those that take time come more often where there are more instructions.
func event(name, label, answers string, longest float64, of func(c *result.Counters) *uint64, parts ...string) reason {
	r := counter(name, label, result.WhyCount, longest, of, parts...)
	r.event, r.answers = true, answers
	if longest > 0 {
		r.per = result.WhyInstructions
	}
	return r
}

func known[N uint64 | float64](figure *N) float64 {
	if figure == nil {
		return math.NaN()
	}
	return float64(*figure)
}

// The parts that may be explained by what happens on a CPU, by moves to another one, by a lack of CPUs, and by a quota.
var (
	ofWork  = []string{result.WhyRunning, result.WhyCPU, result.WhyUser, result.WhyKernel}
	ofMoves = append(slices.Clone(ofWork), result.WhyWaiting, result.WhyBlocked)
	ofLack  = []string{result.WhyWaiting, result.WhyOthersWaiting}
	ofQuota = append(slices.Clone(ofLack), result.WhyBlocked)
)

// reasons are one family of hypotheses: the wall time, the parts of the time, and then the drivers. To add one, add its row.
var reasons = [...]reason{
	{name: result.WhyWall, label: "wall time", unit: result.WhySeconds, of: func(s *result.Sample) float64 { return s.Seconds }},
	part(result.WhyRunning, "running", func(a *result.Account) *uint64 { return &a.Running }),
	part(result.WhyWaiting, "waiting for a CPU", func(a *result.Account) *uint64 { return &a.Waiting }),
	part(result.WhyBlocked, "blocked", func(a *result.Account) *uint64 { return &a.Blocked }),
	part(result.WhyCPU, "CPU time, all threads", func(a *result.Account) *uint64 { return new(a.CPU()) }),
	part(result.WhyUser, "in user mode", func(a *result.Account) *uint64 { return a.User() }),
	part(result.WhyKernel, "in the kernel", func(a *result.Account) *uint64 { return a.Kernel }),
	part(result.WhyOthersWaiting, "other threads waiting for a CPU", func(a *result.Account) *uint64 { return a.OthersWaiting }),
	counted("minor_faults", "page faults, minor", aFault, func(sig *result.Signals) *uint64 { return sig.MinorFaults },
		result.WhyRunning, result.WhyCPU, result.WhyKernel),
	counted("major_faults", "page faults, major", 0, func(sig *result.Signals) *uint64 { return sig.MajorFaults }, result.WhyBlocked),
	counted("voluntary_switches", "switches, voluntary", 0, func(sig *result.Signals) *uint64 { return sig.VoluntarySwitches }, result.WhyBlocked),
	counted("involuntary_switches", "switches, involuntary", 0, func(sig *result.Signals) *uint64 { return sig.InvoluntarySwitches }, ofLack...),
	moves("migrations", "migrations of threads", aMove, allMoves),
	{name: "run_queue_seconds", label: "threads waiting for a CPU", unit: result.WhySeconds, of: allQueued},
	timed("throttled_seconds", "throttled by the quota", func(sig *result.Signals) *float64 { return sig.ThrottledSeconds }, ofQuota...),
	looked("own_throttled_seconds", "throttled by the quota it joined", result.WhySeconds,
		func(l *result.Looks) *float64 { return l.ThrottledSeconds }, ofQuota...),
	looked("remote_pages", "pages on other nodes", result.WhyShare, func(l *result.Looks) *float64 { return l.Memory.OnOtherNodes() }, ofWork...),
	looked("small_pages", "memory in small pages", result.WhyShare, func(l *result.Looks) *float64 { return l.Memory.InSmallPages() }, ofWork...),
	timed("cpu_pressure_seconds", "CPU pressure", func(sig *result.Signals) *float64 { return sig.CPUPressureSeconds }, ofLack...),
	timed("steal_seconds", "steal by the hypervisor", func(sig *result.Signals) *float64 { return sig.StealSeconds }, ofMoves...),
	moves("same_core_moves", "migrations, same core", aNearMove, ofCounters(func(c *result.Counters) *uint64 { return c.SameCoreMoves })),
	moves("same_llc_moves", "migrations, same LLC", aMove, ofCounters(func(c *result.Counters) *uint64 { return c.SameLLCMoves })),
	moves("same_node_moves", "migrations, same node", aFarMove, ofCounters(func(c *result.Counters) *uint64 { return c.SameNodeMoves })),
	moves("cross_node_moves", "migrations, cross node", 0, ofCounters(func(c *result.Counters) *uint64 { return c.CrossNodeMoves })),
	counter("interrupt_seconds", "interrupts on the CPUs", result.WhySeconds, 0, func(c *result.Counters) *float64 { return c.InterruptSeconds },
		result.WhyRunning, result.WhyCPU, result.WhyKernel, result.WhyBlocked),
	counter("io_pressure_seconds", "I/O pressure", result.WhySeconds, 0, func(c *result.Counters) *float64 { return c.IOPressureSeconds }, result.WhyBlocked),
	counter("memory_pressure_seconds", "memory pressure", result.WhySeconds, 0,
		func(c *result.Counters) *float64 { return c.MemoryPressureSeconds }, append(slices.Clone(ofWork), result.WhyBlocked)...),
	counter("counted_mhz", "clock while running", result.WhyMHz, 0, (*result.Counters).MHz, ofWork...),
	{
		name: "mhz", label: "clock at the end", unit: result.WhyMHz, parts: ofWork,
		of: func(s *result.Sample) float64 { return known(s.Quality.Signals.MHz) },
	},
	event("cycles", "cycles", "whether the clock is slower", 0, func(c *result.Counters) *uint64 { return c.Cycles }),
	event(result.WhyInstructions, "instructions", "whether there is more work", 0, func(c *result.Counters) *uint64 { return c.Instructions }, ofWork...),
	event("branch_misses", "branch misses", "whether branches are harder to predict", aBranchMiss, func(c *result.Counters) *uint64 { return c.BranchMisses }, ofWork...),
	event("cache_misses", "cache misses", "whether memory is used more, or in another order", aCacheMiss, func(c *result.Counters) *uint64 { return c.CacheMisses }, ofWork...),
	event("tlb_misses", "TLB misses", "whether addresses are farther apart", aCacheMiss, func(c *result.Counters) *uint64 { return c.TLBMisses }, ofWork...),
	event("slots_retiring", "slots, retiring", "", 0, func(c *result.Counters) *uint64 { return c.Retiring }),
	event("slots_bad_speculation", "slots, bad speculation", "", aSlot, func(c *result.Counters) *uint64 { return c.BadSpeculation }, ofWork...),
	event("slots_frontend_bound", "slots, front end", "", aSlot, func(c *result.Counters) *uint64 { return c.FrontendBound }, ofWork...),
	event("slots_backend_bound", "slots, back end", "", aSlot, func(c *result.Counters) *uint64 { return c.BackendBound }, ofWork...),
	{
		name: "joules", label: "energy of the machine", unit: result.WhyJoules, answers: "what the difference costs", // it takes no time
		of: ofCounters(func(c *result.Counters) *float64 { return c.Joules }),
	},
}

// allMoves are the moves of which the relation is not known.
func allMoves(s *result.Sample) float64 {
	if c := s.Counters; c != nil && (c.SameCoreMoves != nil || c.SameLLCMoves != nil || c.SameNodeMoves != nil || c.CrossNodeMoves != nil) {
		return math.NaN()
	}
	return known(s.Quality.Signals.Migrations)
}

// allQueued is how long threads waited for a CPU, of a sample without an account, which would have it.
func allQueued(s *result.Sample) float64 {
	if s.Account != nil {
		return math.NaN()
	}
	return known(s.Quality.Signals.RunQueueSeconds)
}

// leastSeconds is a difference of times that nobody asks for.
const leastSeconds = 1e-9

// least is the finest difference that is shown, by unit.
var least = map[string]float64{
	result.WhySeconds: leastSeconds, result.WhyCount: 0.01, result.WhyMHz: 0.01, result.WhyJoules: 0.01, result.WhyShare: 1e-4,
}

const firstDriver = 8 // in reasons

// The longest times, in seconds, that single events take: to clear a huge page of 2 MiB; to fill the first-level cache of a CPU, the second-level
// cache, or the last one (a move to another node has no limit: memory stays farther away); to wait until the kernel's migration thread has
// moved a thread; to read from memory of another node that is busy, or to walk a page table there; to refill a pipeline; a slot of a CPU with 4 slots
// a cycle, at 250 MHz.
const (
	aFault      = 0.0005
	aNearMove   = 0.0001
	aMove       = 0.001
	aFarMove    = 0.01
	aMigration  = 0.0001
	aCacheMiss  = 1e-6
	aBranchMiss = 1e-7
	aSlot       = 1e-9
)

// The shares of the family's error rate. The parts that can be the cause are known after as many rounds as the wall time is.
const (
	mainShare    = 0.8 // of running, waiting, blocked and the CPU time
	furtherShare = 0.1 // of the wall time and the other parts
	driversShare = 0.1
	mainParts    = 4
)

// whyAlpha is the error of a hypothesis about one cell, of a family that has this much for each cell, with this number of drivers.
func whyAlpha(hypothesis, drivers int, alpha float64) float64 {
	switch name := reasons[hypothesis].name; {
	case hypothesis >= firstDriver:
		return driversShare * alpha / float64(drivers)
	case name == result.WhyRunning, name == result.WhyWaiting, name == result.WhyBlocked, name == result.WhyCPU:
		return mainShare * alpha / mainParts
	}
	return furtherShare * alpha / float64(firstDriver-mainParts)
}

// byReason holds the figures of a sample; NaN: not known.
type byReason [len(reasons)]float64

// why collects the differences of a cell from its baseline, by hypothesis.
type why struct {
	differences [len(reasons)]*stats.Differences // nil: not judged
	judged      int                              // hypotheses
	baseline    [len(reasons)][]float64
}

// newWhy returns the hypotheses about a cell. A driver that no sample of its first block has is none of them, so that what a machine cannot
// count does not make the others less certain.
func newWhy(alpha float64, had [len(reasons)]bool) *why {
	w := &why{}
	for i := range reasons {
		if i < firstDriver || had[i] {
			w.judged++
		}
	}
	for i, r := range reasons {
		if i >= firstDriver && !had[i] {
			continue
		}
		w.differences[i] = stats.NewDifferences(whyAlpha(i, w.judged-firstDriver, alpha), least[r.unit])
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
		if !lacked[i] && w.differences[i] != nil {
			w.differences[i].Add(cell[i]-base[i], cell[i]-duplicate[i])
			w.baseline[i] = append(w.baseline[i], base[i])
		}
	}
	return w.differences[0].Rounds() == stats.MostDifferences
}

// rounds returns the number of rounds in which a hypothesis was judged.
func (w *why) rounds(hypothesis int) int {
	if w.differences[hypothesis] == nil {
		return 0
	}
	return w.differences[hypothesis].Rounds()
}

// counting says how events were counted in the samples of a run.
type counting struct {
	asked    bool
	userOnly bool
	lacks    map[string]string // by the figure that some sample lacks, the latest reason
}

// add adds those of a sample, if it has some.
func (c *counting) add(of *result.Counters) {
	if of == nil {
		return
	}
	c.asked, c.userOnly = true, c.userOnly || of.UserOnly
	for _, l := range of.Lacks {
		for _, figure := range l.Of {
			if c.lacks == nil {
				c.lacks = map[string]string{}
			}
			c.lacks[figure] = l.Why
		}
	}
}

// found returns what the differences say. compared is the number of cells that are compared.
func (w *why) found(compared int, claims float64, byTime bool, counting counting) *result.Why {
	of := &result.Why{Rounds: w.rounds(0), Comparisons: compared * w.judged}
	for i, r := range reasons {
		if without := of.Rounds - w.rounds(i); counting.asked && r.answers != "" && without > 0 {
			of.Missing = append(of.Missing, result.Missing{Label: r.label, Answers: r.answers, Rounds: without, Why: counting.lacks[r.name]})
		}
		if w.rounds(i) == 0 {
			continue
		}
		if counting.userOnly && r.event {
			r.label += ", in user mode"
			r.parts = slices.DeleteFunc(slices.Clone(r.parts), func(part string) bool { return part == result.WhyKernel })
		}
		p := result.Part{
			Name: r.name, Label: r.label, Unit: r.unit, Of: r.parts, Longest: r.longest, Blocks: r.blocks, Per: r.per,
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
	of.Conclude(claims, byTime)
	return of
}

// Explain says of the cells that are claimed to differ, or of all cells, in which parts of the time they differ from their baselines, and in
// what else. It decides nothing else. Of samples without an account, no part is known.
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
		if run.Against(i) != i && (all || run.Claims(i) != 0) {
			whys[i] = nil
		}
	}
	if len(whys) == 0 {
		return of
	}
	compared, left := comparedCells(run), len(whys)
	var counting counting
	for block := range accounted(run, &counting) {
		for _, s := range block.samples {
			if _, asked := whys[s.cell]; !asked || s.control {
				continue
			}
			base, duplicate := block.of(run.Against(s.cell), false), block.of(run.Against(s.cell), true)
			if base == nil || duplicate == nil { // it is a baseline here, or the block was not finished
				continue
			}
			if whys[s.cell] == nil {
				whys[s.cell] = newWhy(cellAlpha(run), block.had)
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
		if w != nil && (!run.ByTime(i) || w.rounds(1) > 0) {
			of[i] = w.found(compared, run.Claims(i), run.ByTime(i), counting)
			of[i].Asked = all
		}
	}
	return of
}

// ExplainAll explains all cells, as --why asks.
func ExplainAll(run *result.Run) {
	Explain(run, true)
	if run.Matrix != nil && !slices.ContainsFunc(run.Cells, func(c result.Cell) bool { return c.Why != nil }) {
		run.Warnings = append(run.Warnings, result.Warning{
			Code: "no-account", Message: "where the time of these samples went is not known", Hint: "an older gorun did not record it",
		})
	}
}

// accountedSample is what Explain needs of a sample.
type accountedSample struct {
	cell    int
	control bool
	figures byReason
}

// accountedBlock is a block in which each sample is valid and, if any sample of the run has an account, has one: as for the verdicts, another
// block is left out completely.
type accountedBlock struct {
	samples []accountedSample
	lacked  [len(reasons)]bool // figures that a sample lacks
	had     [len(reasons)]bool // figures that a sample has
}

func (b *accountedBlock) of(cell int, control bool) *accountedSample {
	for i := range b.samples {
		if s := &b.samples[i]; s.cell == cell && s.control == control {
			return s
		}
	}
	return nil
}

// accounted returns the blocks of a run, and notes how their samples were counted. A block lasts until the next one.
func accounted(run *result.Run, counting *counting) iter.Seq[*accountedBlock] {
	return func(yield func(*accountedBlock) bool) {
		var block accountedBlock
		round, number, sound, confirms := 0, 0, true, false
		accounts := run.Samples.Has(func(s *result.Sample) bool { return s.Account != nil })
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
			if sound = sound && !invalid(s) && (s.Account != nil || !accounts); !sound {
				continue
			}
			of := accountedSample{cell: s.Cell, control: s.Control}
			for i, r := range reasons {
				of.figures[i] = r.of(s)
				unknown := math.IsNaN(of.figures[i])
				block.lacked[i], block.had[i] = block.lacked[i] || unknown, block.had[i] || !unknown
			}
			counting.add(s.Counters)
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
