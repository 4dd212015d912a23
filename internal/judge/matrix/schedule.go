package matrix

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
)

// Order is a kind of schedule.
type Order int

// The kinds of schedules.
const (
	Turns        Order = iota // the cells in turns: the first round in order, each later one shuffled; not compared
	RandomBlocks              // randomised complete blocks, judged after each round
	Rows                      // all samples of a cell, then all of the next; not judged
	Pairs                     // a fixed number of pairs of a cell and the baseline, judged at the end
	Searching                 // blocks of the cells that a search asks for
)

// Schedule describes the order of the cells of a run, and how they are compared.
type Schedule struct {
	Order    Order
	Title    string // of the comparison
	Compared string // the column that is compared; "": wall time
	Baseline int    // index of the cell with which the others are compared
	First    []int  // of Pairs: for each round, which of the two cells goes first
	Method   string // of Pairs, in words
	Open     bool   // rounds continue until the differences are known, unless --samples is given

	// An experiment sets these if its schedule has another default than its other runs.
	Samples  int     // of each cell; 0: until the differences are known. It is then taken without a budget.
	Budget   float64 // seconds after which no sample begins; 0: no limit
	Duration float64 // seconds for which samples follow each other; the last one is cut; 0: off
	Warmup   int     // rounds of Turns that do not count
}

// Sequence decides which cell is sampled next. The next cell depends only on the kind of schedule, the seed, the cells
// and the samples so far, so that a resumed run continues in the same order. Times are seconds since the run began.
type Sequence interface {
	// Next returns the place of the next sample; false when the run is over.
	Next(elapsed float64) (slot result.Slot, more bool)
	// Check reports whether a sample counts, or is a warm-up. It may make the sample invalid.
	Check(s *result.Sample, elapsed float64) (counts bool)
	// Add adds the sample.
	Add(s result.Sample, elapsed float64) error
	// Spend takes seconds off the budget.
	Spend(seconds float64)
	// Judge sets the verdicts and summaries of the cells of the run.
	Judge()
	// Extent returns what is planned.
	Extent() result.Extent
	// Warnings returns warnings about planned samples that were not taken, and about cells that were given up.
	Warnings() []result.Warning
}

// Spend takes seconds off a budget. 0 stays: there is no limit.
func (s *Schedule) Spend(seconds float64) {
	if s.Budget > 0 {
		s.Budget = max(math.SmallestNonzeroFloat64, s.Budget-seconds)
	}
}

// turns takes the cells in a given order: round by round, or in Rows one cell again and again and then the next.
type turns struct {
	Schedule
	run    *result.Run
	names  []string // of the cells
	faults Faults
	random *rand.Rand // of Turns
	order  []int      // of the cells in the round in progress
	round  int        // number of complete rounds, including warm-ups
	at     int        // position in order
	kept   []int      // samples of each cell
	taken  int        // samples of all cells
	early  bool       // a warm-up used up the time and became the sample
	late   bool       // in Rows, a cell used up its part of the budget
	cut    bool       // the last sample was cut short

	figures []Comparand // by which the cells are compared
}

func newTurns(run *result.Run, names []string, s Schedule) *turns {
	n := len(names)
	t := &turns{Schedule: s, run: run, names: names, kept: make([]int, n), random: rand.New(rand.NewPCG(run.Seed, 0))}
	for cell := range n {
		t.order = append(t.order, cell)
	}
	if s.Order != Turns {
		t.Warmup = 0
	}
	t.begin()
	return t
}

// begin sets the order of the round. In turns, the warm-ups and the first round follow the cells' order.
func (t *turns) begin() {
	switch {
	case t.Order == Pairs && t.round < len(t.First):
		t.order = []int{t.First[t.round], 1 - t.First[t.round]}
	case t.Order == Turns && t.round > t.Warmup:
		t.random.Shuffle(len(t.names), func(i, j int) { t.order[i], t.order[j] = t.order[j], t.order[i] })
	}
}

// complete reports whether no sample is left, or none can be taken.
func (t *turns) complete() bool {
	left := t.faults.Left(len(t.names))
	switch {
	case t.early || left == 0 || t.Order == Pairs && left < len(t.names):
		return true
	case t.Order == Rows:
		return t.at == len(t.names)
	}
	return t.Duration == 0 && t.round-t.Warmup >= t.Samples
}

func (t *turns) over(elapsed float64) bool {
	return t.Budget > 0 && elapsed >= t.Budget || t.Duration > 0 && elapsed >= t.Duration
}

func (t *turns) Next(elapsed float64) (slot result.Slot, more bool) {
	byRow := t.Order == Rows
	if !byRow && t.taken > 0 && t.over(elapsed) {
		return slot, false
	}
	for ; !t.complete(); t.advance() {
		cell := t.order[t.at]
		late := byRow && t.kept[cell] > 0 && t.Budget > 0 && elapsed > t.Budget*float64(cell+1)/float64(len(t.names))
		if t.late = t.late || late; !late && !t.faults.GivenUp(cell) {
			return result.Slot{Cell: cell, Round: t.kept[cell]}, true
		}
	}
	return slot, false
}

// advance goes to the next cell.
func (t *turns) advance() {
	if t.at++; t.at == len(t.names) && t.Order != Rows {
		t.at, t.round = 0, t.round+1
		t.begin()
	}
}

func (t *turns) Check(s *result.Sample, elapsed float64) (counts bool) {
	if t.figures != nil && !s.Partial {
		s.Slot = &result.Slot{Cell: t.order[t.at]} // the figure that it must have is that of its cell
		refuse(s, t.figures[0].Refusal(s))
	}
	t.early = t.round < t.Warmup && t.over(elapsed)
	return t.early || t.round >= t.Warmup
}

func (t *turns) Add(s result.Sample, _ float64) error {
	cell := t.order[t.at]
	t.cut = s.Partial
	t.faults.Add(cell, s)
	if t.early || t.round >= t.Warmup {
		t.kept[cell]++
		t.taken++
	}
	if t.Order != Rows || t.kept[cell] == t.Samples {
		t.advance()
	}
	return nil
}

func (t *turns) Judge() {
	switch t.Order {
	case Rows:
		Summarise(t.run, t.figures)
	case Pairs:
		JudgePairs(t.run, t.figures)
	}
}

func (t *turns) Extent() result.Extent {
	c := result.Extent{Budget: t.Budget, Duration: t.Duration}
	if t.Duration == 0 {
		c.Samples = (t.Samples + t.Warmup) * len(t.names)
	}
	return c
}

// uncut is the advice where the budget ended before all planned samples were taken.
const uncut = "give a longer --budget, or --samples without --budget for a fixed number"

func (t *turns) Warnings() []result.Warning {
	warnings := t.faults.Warnings(t.names)
	switch {
	case t.early:
		warnings = append(warnings, result.Warning{
			Code:    "no-warmup",
			Message: "the first execution used up the time, so it is the sample and no warm-up was dropped",
			Hint:    "give a longer --budget or --duration, or --samples without them",
		})
	case t.Budget == 0 || t.Duration > 0:
	case t.cut:
		warnings = append(warnings, result.Warning{
			Code: "budget", Message: "the budget ended during a sample, which is cut short",
			Hint: "give a longer --budget, or less work",
		})
	case t.late || !t.complete():
		warnings = append(warnings, result.Warning{
			Code: "budget", Message: "the budget ended before all samples were taken", Hint: uncut,
		})
	}
	return warnings
}

// Blocks takes the samples that a judging requests, and those that confirm its causes. The first round is always completed, as is a
// round that was begun before a resume; after that, no round begins that would not end within the budget.
type Blocks struct {
	*Judging
	Schedule
	begun    float64 // when the round in progress began, or the last one ended
	last     float64 // how long the last round took
	confirms bool    // the sample that Next asked for is a confirming one
}

// Next implements Sequence.
func (b *Blocks) Next(elapsed float64) (slot result.Slot, more bool) {
	if b.confirms = b.confirm(elapsed); b.confirms {
		return b.confirming.Place(), true
	}
	if b.Done() {
		return slot, false
	}
	if b.Between() {
		if b.Budget > 0 && b.Rounds() > 0 && elapsed+b.last > b.Budget {
			return slot, false
		}
		b.begun = elapsed
	}
	return b.Judging.Next(), true
}

// Check implements Sequence.
func (b *Blocks) Check(s *result.Sample, _ float64) bool {
	if b.confirms {
		s.Slot = new(b.confirming.Place())
		return true
	}
	s.Slot = new(b.Judging.Next()) // the figure that it must have is that of its cell
	b.Judging.Check(s)
	return true
}

// Add implements Sequence.
func (b *Blocks) Add(s result.Sample, elapsed float64) error {
	err := b.Judging.Add(s)
	if err == nil && b.Between() && !s.Partial && !s.Confirms {
		b.last, b.begun = elapsed-b.begun, elapsed
	}
	return err
}

// Extent implements Sequence.
func (b *Blocks) Extent() result.Extent {
	return result.Extent{Samples: b.Samples * b.Round(), Budget: b.Budget}
}

// Warnings implements Sequence.
func (b *Blocks) Warnings() []result.Warning {
	warnings := b.Judging.Warnings()
	if b.Done() || b.Samples == 0 { // what is undecided is part of the answer
		return warnings
	}
	return append(warnings, result.Warning{
		Code: "budget", Hint: uncut,
		Message: fmt.Sprintf("the budget ended after %d of %d samples of each cell", b.Rounds(), b.Samples),
	})
}

// Continue returns the sequence of a run that continues with the samples on a judging.
func (s Schedule) Continue(judging *Judging) *Blocks {
	return &Blocks{Judging: judging, Schedule: s, begun: judging.ended, last: judging.took}
}

// Sequence returns the sequence of a run that begins, whose cells have these names. It adds its description to the run.
func (s Schedule) Sequence(run *result.Run, names []string, columns column.List) (Sequence, error) {
	t := newTurns(run, names, s)
	if run.Matrix == nil {
		return t, nil
	}
	if s.Order == RandomBlocks {
		judging, err := NewJudging(run, columns)
		if err != nil {
			return nil, err
		}
		run.Matrix.Order = judging.Order()
		return &Blocks{Judging: judging, Schedule: s}, nil
	}
	if s.Order == Searching {
		return NewSearch(run, columns)
	}
	switch run.Matrix.Order.BlockCells = 1; s.Order {
	case Rows:
		run.Matrix.Order.Design, run.Matrix.Order.Method = result.Rows, "row by row: drift makes rows differ, so none is judged"
	case Pairs:
		run.Matrix.Order = result.Order{Design: result.Pairs, Method: s.Method, BlockCells: 2}
		if len(s.First) > 0 {
			run.Matrix.Order.First = [][]int{{s.First[0], 1 - s.First[0]}}
		}
	}
	var err error
	t.figures, err = Comparands(run, columns)
	return t, err
}
