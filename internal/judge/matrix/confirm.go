package matrix

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"

	"gorun/internal/record/result"
	"gorun/internal/stats"
)

const (
	// mostConfirming is the number of rounds after which it stays open whether a candidate makes half of a difference.
	mostConfirming = 100
	// mostSeeking is the number of rounds that are taken to find the cause of a difference. One that is large is claimed after fewer rounds than
	// its cause is known.
	mostSeeking = 20
	// confirmedTogether is the number of cells that are confirmed in one block: with their candidates, as many as are compared in one.
	confirmedTogether = stats.BlockCells / 2
	// aNanosecond is a difference of times that nobody asks for.
	aNanosecond = 1e-9
	// confirmingOrder keeps the order of confirming rounds apart from that of the others, which the same seed gives.
	confirmingOrder = 1 << 62
)

// Confirming takes samples that show whether a candidate takes away the difference of a cell. It decides nothing about the answer of the
// run: its samples are of blocks of their own, and so is its error rate. Its rounds come between those of the run. Which candidates are tried
// follows from the samples of the run before.
type Confirming struct {
	run    *result.Run
	chosen int // rounds of the run by which the candidates were chosen
	tried  []*trial
	faults Faults
	rounds int
	slots  []result.Slot
	taken  []result.Sample // of the round in progress
	begun  float64         // elapsed seconds when the round in progress began
	took   float64         // seconds that the last round took; 0: none was taken
}

// trial is a candidate that is tried for a cell.
type trial struct {
	cell      int
	candidate int          // index in the run's; negative: there is none, or not yet
	share     *stats.Share // nil: no candidate is tried
	sought    int          // rounds without a candidate
	result.Confirmed
}

// seeks reports whether the cause of the cell's difference is not known yet.
func (t *trial) seeks() bool { return t.candidate < 0 && t.Why == "" }

// takenAwayBy has the flags that take a cause away alone, or what may explain it, by the name of its reason; the best first. To all others, such as page
// faults and a quota, gorun has no flag.
var takenAwayBy = map[string][]string{
	result.WhyWaiting:       {result.AxisSched, result.AxisNice},
	result.WhyOthersWaiting: {result.AxisSched, result.AxisNice},
	"involuntary_switches":  {result.AxisSched, result.AxisNice},
	"cpu_pressure_seconds":  {result.AxisSched, result.AxisNice},
	"migrations":            {result.AxisCPUs},
	"same_core_moves":       {result.AxisCPUs},
	"same_llc_moves":        {result.AxisCPUs},
	"same_node_moves":       {result.AxisCPUs},
	"cross_node_moves":      {result.AxisCPUs},
	"remote_pages":          {result.AxisMempolicy, result.AxisCPUs},
}

// newTrial returns a trial without rounds of the candidate that takes away the cause of a cell's difference; its Why says why there is none
// that may be set. alpha is the error of one cell.
func newTrial(run *result.Run, cell int, w *result.Why, alpha float64) *trial {
	t := &trial{cell: cell}
	if t.candidate, t.Why = candidateFor(run, cell, w); t.candidate >= 0 {
		t.Candidate = &run.Matrix.Candidates[t.candidate]
		t.share = stats.NewShare(alpha, aNanosecond, t.Candidate.Cell == run.Against(cell))
	}
	if t.Why != "" {
		t.Result = result.ConfirmedUntried
	}
	return t
}

// The reasons why there is no candidate.
const (
	noAxis  = "no flag of gorun sets this cause alone"
	threads = "one CPU would also slow down a program of several threads or processes"
)

// candidateFor returns the index of the candidate that takes away the cause of a cell's difference, or what may explain it, from the slower of
// the cell and its baseline. It says why none can be tried: then there is no index, or that of one that may not be set.
func candidateFor(run *result.Run, cell int, w *result.Why) (candidate int, why string) {
	slower := cell
	if w.Wall.Typical < 0 {
		slower = run.Against(cell)
	}
	candidate, why = -1, noAxis
	for _, name := range append([]string{w.Cause}, w.ExplainedBy...) {
		for _, axis := range takenAwayBy[name] {
			i := slices.IndexFunc(run.Matrix.Candidates, func(c result.Candidate) bool { return c.Cell == slower && c.Axis == axis })
			switch {
			case i < 0:
			case axis == result.AxisCPUs && w.Threads():
				why = threads
			case run.Matrix.Candidates[i].Lacking == "":
				return i, ""
			default:
				candidate, why = i, run.Matrix.Candidates[i].Lacking
			}
		}
	}
	return candidate, why
}

// perhapsCandidate reports whether there is no candidate for the cause of a cell's difference, and perhaps one for what may explain the cause, of
// which nothing is known yet.
func perhapsCandidate(run *result.Run, cell int, w *result.Why) bool {
	if i, _ := candidateFor(run, cell, w); i >= 0 {
		return false
	}
	return slices.ContainsFunc(w.Drivers, func(p result.Part) bool {
		if p.Lo != nil || p.Hi != nil || !slices.Contains(p.Of, w.Cause) {
			return false
		}
		perhaps := *w
		perhaps.ExplainedBy = []string{p.Name}
		i, _ := candidateFor(run, cell, &perhaps)
		return i >= 0
	})
}

// add adds a block, unless a sample that the trial needs is missing or invalid, or it has no candidate.
func (t *trial) add(run *result.Run, block []result.Sample) {
	seconds := func(cell int, control bool) (of float64, known bool) {
		i := slices.IndexFunc(block, func(s result.Sample) bool { return s.Cell == cell && s.Control == control })
		if i < 0 {
			return 0, false
		}
		return block[i].Seconds, true
	}
	if t.share == nil {
		return
	}
	cell, has := seconds(t.cell, false)
	changed, tried := seconds(len(run.Cells)+t.candidate, false)
	base, begins := seconds(run.Against(t.cell), false)
	duplicate, again := seconds(run.Against(t.cell), true)
	if has && tried && begins && again && !anyOf(block, invalid) {
		t.share.Add(cell, changed, base, duplicate)
	}
}

// conclude sets what the rounds so far say.
func (t *trial) conclude() {
	if t.share == nil {
		return
	}
	t.Rounds = t.share.Rounds()
	if found := t.share.Found(); found.Lo != nil || found.Hi != nil {
		t.Share = &found
	}
	t.Conclude()
}

// choose adds trials of the cells whose times are claimed to differ after this number of rounds of the run; its cells have their verdicts.
func (c *Confirming) choose(rounds int) {
	c.chosen = rounds
	for i := range c.run.Cells {
		if c.run.Claims(i) != 0 && c.run.ByTime(i) && !slices.ContainsFunc(c.tried, func(t *trial) bool { return t.cell == i }) {
			c.tried = append(c.tried, &trial{cell: i, candidate: -1})
		}
	}
	c.find()
	c.begin()
}

// find gives a candidate to the trials whose cause the samples name by now.
func (c *Confirming) find() {
	if !slices.ContainsFunc(c.tried, (*trial).seeks) {
		return
	}
	whys := explain(c.run, false)
	for i, t := range c.tried {
		if w := whys[t.cell]; t.seeks() && w != nil && w.Cause != "" && !(t.sought < mostSeeking && perhapsCandidate(c.run, t.cell, w)) {
			c.tried[i] = newTrial(c.run, t.cell, w, cellAlpha(c.run))
		} else if w == nil {
			t.sought = mostSeeking // its samples have no account
		}
	}
}

// givenUp returns why one of the cells that a trial compares was given up; "": none was.
func (t *trial) givenUp(run *result.Run, faults *Faults) string {
	cells := []int{t.cell, run.Against(t.cell)}
	if t.candidate >= 0 {
		cells = append(cells, len(run.Cells)+t.candidate)
	}
	for _, cell := range cells {
		if faults.GivenUp(cell) {
			return faults.cells[cell].reason
		}
	}
	return ""
}

// open reports whether more samples of a trial can answer it.
func (c *Confirming) open(t *trial) bool {
	return t.Why == "" && !t.Answered() && t.sought < mostSeeking && t.givenUp(c.run, &c.faults) == ""
}

// begin lays out the next round: in each block, cells with the same baseline and their candidates, the baseline and its duplicate.
func (c *Confirming) begin() {
	c.slots, c.taken = nil, c.taken[:0]
	if c.rounds == mostConfirming {
		return
	}
	var blocks [][]*trial
	for _, t := range c.tried {
		if !c.open(t) {
			continue
		}
		at := slices.IndexFunc(blocks, func(block []*trial) bool {
			return c.run.Against(block[0].cell) == c.run.Against(t.cell) && len(block) < confirmedTogether
		})
		if at < 0 {
			blocks = append(blocks, []*trial{t})
		} else {
			blocks[at] = append(blocks[at], t)
		}
	}
	source := rand.New(rand.NewPCG(c.run.Seed, confirmingOrder+uint64(c.rounds)))
	source.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	for i, block := range blocks {
		baseline := c.run.Against(block[0].cell)
		slots := []result.Slot{{Cell: baseline}, {Cell: baseline, Control: true}}
		for _, t := range block {
			slots = append(slots, result.Slot{Cell: t.cell})
			candidate := result.Slot{Cell: len(c.run.Cells) + t.candidate}
			if t.candidate >= 0 && !slices.Contains(slots, candidate) { // two cells may share that of their baseline
				slots = append(slots, candidate)
			}
		}
		source.Shuffle(len(slots), func(i, j int) { slots[i], slots[j] = slots[j], slots[i] })
		for _, slot := range slots {
			slot.Confirms, slot.Round, slot.Block = true, c.rounds, i
			c.slots = append(c.slots, slot)
		}
	}
}

// Done reports whether no more samples are taken.
func (c *Confirming) Done() bool { return len(c.slots) == 0 }

// Between reports whether a round has just ended and the next one has not begun.
func (c *Confirming) Between() bool { return len(c.taken) == 0 }

// Place returns the place of the next sample; the zero Slot if there is none.
func (c *Confirming) Place() result.Slot {
	if c.Done() {
		return result.Slot{}
	}
	return c.slots[len(c.taken)]
}

// Name describes what a sample of a place is of.
func (c *Confirming) Name(slot result.Slot) string {
	if i := slot.Cell - len(c.run.Cells); i >= 0 {
		of := c.run.Matrix.Candidates[i]
		return c.run.Cells[of.Cell].Name + " with " + of.String()
	}
	return c.run.Cells[slot.Cell].Name
}

// add adds the sample of the place that comes next, which began after this many seconds. One that the budget cut short is taken again when
// the run is resumed.
func (c *Confirming) add(s result.Sample, began float64) {
	if s.Partial {
		return
	}
	if c.Between() {
		c.begun = began
	}
	c.taken = append(c.taken, s)
	c.faults.Add(s.Cell, s)
	if len(c.taken) < len(c.slots) {
		return
	}
	for _, t := range c.tried {
		if t.seeks() {
			t.sought++
			continue
		}
		for _, block := range blocksOf(c.taken) {
			t.add(c.run, block)
		}
		t.conclude()
	}
	c.find()
	c.rounds++
	c.took = s.Elapsed - c.begun
	c.begin()
}

// blocksOf divides samples into their blocks.
func blocksOf(samples []result.Sample) (blocks [][]result.Sample) {
	for len(samples) > 0 {
		first := samples[0].Slot
		n := slices.IndexFunc(samples, func(s result.Sample) bool { return s.Round != first.Round || s.Block != first.Block })
		if n < 0 {
			n = len(samples)
		}
		blocks, samples = append(blocks, samples[:n]), samples[n:]
	}
	return blocks
}

// confirm adds what the confirming samples say to the causes of the cells, if that was asked for.
func confirm(run *result.Run) {
	if len(run.Matrix.Candidates) == 0 {
		return
	}
	var samples []result.Sample
	var faults Faults
	for _, s := range run.Confirming.Each() {
		if !s.Partial {
			samples = append(samples, *s)
			faults.Add(s.Cell, *s)
		}
	}
	blocks := blocksOf(samples)
	for i := range run.Cells {
		w := run.Cells[i].Why
		if w == nil || w.Cause == "" {
			continue
		}
		t := newTrial(run, i, w, cellAlpha(run))
		if t.Why == "" {
			for _, block := range blocks {
				t.add(run, block)
			}
			if t.conclude(); t.Result == result.ConfirmedUnknown && t.Rounds < mostConfirming {
				t.Why = cmp.Or(t.givenUp(run, &faults), "the run ended before")
			}
		}
		w.Confirmed = &t.Confirmed
	}
}

// Confirming returns what confirms the causes that are named by now, if that was asked for; nil: there is none, or a round is in progress.
func (b *Judging) Confirming() *Confirming {
	if len(b.run.Matrix.Candidates) == 0 || !b.Between() {
		return nil
	}
	c := b.confirming
	if c == nil {
		c = &Confirming{run: b.run, chosen: -1}
	}
	if c.Between() && c.chosen != b.rounds {
		b.Judge()
		c.choose(b.rounds)
	}
	if len(c.tried) > 0 {
		b.confirming = c
	}
	return b.confirming
}

// confirmingShare is the share of the budget after which causes are confirmed although the question of the run is not answered yet: that a cell
// differs is often known long before by how much it does.
const confirmingShare = 0.5

// confirm reports whether the next sample is a confirming one. A round that was begun is completed; no round begins that would not end within
// the budget.
func (b *Blocks) confirm(elapsed float64) bool {
	c := b.confirming
	switch looks := b.Rounds()%max(1, 1<<bits.Len(uint(b.Rounds()))/gateLooks) == 0; {
	case len(b.run.Matrix.Candidates) == 0 || !b.Between():
		return false
	case c != nil && !c.Between():
		return true
	case b.Budget > 0 && elapsed+b.confirmingTakes() > b.Budget:
		return false
	case !b.Done() && (b.Budget == 0 || elapsed < confirmingShare*b.Budget || !looks && (c == nil || c.Done())):
		return false
	}
	c = b.Confirming()
	return c != nil && !c.Done()
}

// confirmingTakes returns how long a confirming round takes, in seconds.
func (b *Blocks) confirmingTakes() float64 {
	if b.confirming != nil && b.confirming.took > 0 {
		return b.confirming.took
	}
	return b.last
}
