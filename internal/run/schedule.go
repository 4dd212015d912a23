package run

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gorun/internal/column"
	"gorun/internal/experiment"
	"gorun/internal/matrix"
	"gorun/internal/result"
)

// schedule decides which cell is sampled next. The next cell depends only on the kind of schedule, the seed, the cells
// and the samples so far, so that a resumed run continues in the same order. Times are seconds since the run began.
type schedule interface {
	// next returns the place of the next sample; false when the run is over.
	next(elapsed float64) (slot result.Slot, more bool)
	// check reports whether a sample counts, or is a warm-up. It may make the sample invalid.
	check(s *result.Sample, elapsed float64) (counts bool)
	// add adds the sample.
	add(s result.Sample, elapsed float64) error
	// spend takes seconds off the budget.
	spend(seconds float64)
	// judge sets the verdicts and summaries of the cells of the run.
	judge()
	// course returns what is planned.
	course() result.Course
	// warnings returns warnings about planned samples that were not taken, and about cells that were given up.
	warnings() []result.Warning
}

// design holds what schedules share.
type design struct {
	cells    int
	names    []string // of the cells
	samples  int      // of each cell; 0: until the differences are known
	warmup   int      // laps, or executions of the first cell, that do not count
	budget   float64  // seconds after which no sample begins; 0: no limit
	duration float64  // seconds during which samples are taken; 0: no such limit
	seed     uint64
	faults   matrix.Faults
	run      *result.Run
	figures  []matrix.Figure // by which the cells of the run are compared
}

func (d *design) spend(seconds float64) {
	if d.budget > 0 {
		d.budget = max(math.SmallestNonzeroFloat64, d.budget-seconds) // 0: no limit
	}
}

// turns takes the cells in a given order: round by round, or in Rows one cell again and again and then the next.
type turns struct {
	design
	kind   experiment.Order
	first  []int      // of Pairs: the cell that comes first, by round
	random *rand.Rand // of Turns
	order  []int      // of the cells in the round in progress
	round  int        // number of complete rounds, including warm-ups
	at     int        // position in order
	kept   []int      // samples of each cell
	taken  int        // samples of all cells
	early  bool       // a warm-up used up the time and became the sample
	late   bool       // in Rows, a cell used up its part of the budget
	cut    bool       // the last sample was cut short
}

func newTurns(d design, s experiment.Schedule) *turns {
	t := &turns{design: d, kind: s.Order, first: slices.Clone(s.First), kept: make([]int, d.cells)}
	for cell := range d.cells {
		t.order = append(t.order, cell)
	}
	t.random = rand.New(rand.NewPCG(d.seed, 0))
	if s.Watch {
		t.samples, t.warmup = math.MaxInt, 0
	}
	if t.kind != experiment.Turns {
		t.warmup = 0
	}
	t.begin()
	return t
}

// begin sets the order of the round. In turns, the warm-ups and the first round follow the cells' order.
func (t *turns) begin() {
	switch {
	case t.kind == experiment.Pairs && t.round < len(t.first):
		t.order = []int{t.first[t.round], 1 - t.first[t.round]}
	case t.kind == experiment.Turns && t.round > t.warmup:
		t.random.Shuffle(t.cells, func(i, j int) { t.order[i], t.order[j] = t.order[j], t.order[i] })
	}
}

// complete reports whether no sample is left, or none can be taken.
func (t *turns) complete() bool {
	left := t.faults.Left(t.cells)
	switch {
	case t.early || left == 0 || t.kind == experiment.Pairs && left < t.cells:
		return true
	case t.kind == experiment.Rows:
		return t.at == t.cells
	}
	return t.duration == 0 && t.round-t.warmup >= t.samples
}

func (t *turns) over(elapsed float64) bool {
	return t.budget > 0 && elapsed >= t.budget || t.duration > 0 && elapsed >= t.duration
}

func (t *turns) next(elapsed float64) (slot result.Slot, more bool) {
	byRow := t.kind == experiment.Rows
	if !byRow && t.taken > 0 && t.over(elapsed) {
		return slot, false
	}
	for ; !t.complete(); t.advance() {
		cell := t.order[t.at]
		late := byRow && t.kept[cell] > 0 && t.budget > 0 && elapsed > t.budget*float64(cell+1)/float64(t.cells)
		if t.late = t.late || late; !late && !t.faults.GivenUp(cell) {
			return result.Slot{Cell: cell, Round: t.kept[cell]}, true
		}
	}
	return slot, false
}

// advance goes to the next cell.
func (t *turns) advance() {
	if t.at++; t.at == t.cells && t.kind != experiment.Rows {
		t.at, t.round = 0, t.round+1
		t.begin()
	}
}

func (t *turns) check(_ *result.Sample, elapsed float64) (counts bool) {
	t.early = t.round < t.warmup && t.over(elapsed)
	return t.early || t.round >= t.warmup
}

func (t *turns) add(s result.Sample, _ float64) error {
	cell := t.order[t.at]
	t.cut = s.Partial
	t.faults.Add(cell, s)
	if t.early || t.round >= t.warmup {
		t.kept[cell]++
		t.taken++
	}
	if t.kind != experiment.Rows || t.kept[cell] == t.samples {
		t.advance()
	}
	return nil
}

func (t *turns) judge() {
	switch t.kind {
	case experiment.Rows:
		matrix.Summarise(t.run, t.figures)
	case experiment.Pairs:
		matrix.JudgePairs(t.run, t.figures)
	}
}

func (t *turns) course() result.Course {
	c := result.Course{Budget: t.budget, Duration: t.duration}
	if t.duration == 0 && t.samples < math.MaxInt {
		c.Samples = (t.samples + t.warmup) * t.cells
	}
	return c
}

// uncut is the advice where the budget ended before all planned samples were taken.
const uncut = "give a longer --budget, or --samples without --budget for a fixed number"

func (t *turns) warnings() []result.Warning {
	warnings := t.faults.Warnings(t.names)
	switch {
	case t.early:
		warnings = append(warnings, result.Warning{
			Code:    "no-warmup",
			Message: "the first execution used up the time, so it is the sample and no warm-up was dropped",
			Hint:    "give a longer --budget or --duration, or --samples without them",
		})
	case t.budget == 0 || t.duration > 0:
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

// blocks takes the samples that a board requests. The first round is always completed, as is a round that was begun
// before a resume; after that, no round begins that would not end within the budget.
type blocks struct {
	design
	board *matrix.Board
	begun float64 // when the round in progress began, or the last one ended
	last  float64 // how long the last round took
}

func (b *blocks) next(elapsed float64) (slot result.Slot, more bool) {
	if b.board.Done() {
		return slot, false
	}
	if b.board.Between() {
		if b.budget > 0 && b.board.Rounds() > 0 && elapsed+b.last > b.budget {
			return slot, false
		}
		b.begun = elapsed
	}
	return b.board.Next(), true
}

func (b *blocks) check(s *result.Sample, _ float64) bool {
	b.board.Check(s)
	return true
}

func (b *blocks) add(s result.Sample, elapsed float64) error {
	err := b.board.Add(s)
	if err == nil && b.board.Between() && !s.Partial {
		b.last, b.begun = elapsed-b.begun, elapsed
	}
	return err
}

func (b *blocks) judge() { b.board.Judge() }

func (b *blocks) course() result.Course {
	return result.Course{Samples: b.samples * b.board.Round(), Budget: b.budget}
}

func (b *blocks) warnings() []result.Warning {
	warnings := b.board.Warnings()
	if b.board.Done() || b.samples == 0 { // what is undecided is part of the answer
		return warnings
	}
	return append(warnings, result.Warning{
		Code: "budget", Hint: uncut,
		Message: fmt.Sprintf("the budget ended after %d of %d samples of each cell", b.board.Rounds(), b.samples),
	})
}

// newSchedule makes the schedule of a run, and adds its description to the result.
func newSchedule(run *result.Run, columns column.List, d design, s experiment.Schedule) (schedule, error) {
	d.run = run
	if run.Matrix == nil {
		return newTurns(d, s), nil
	}
	var err error
	if d.figures, err = matrix.Figures(run.Matrix, columns); err != nil {
		return nil, err
	}
	switch s.Order {
	case experiment.Blocks:
		board, err := matrix.NewBoard(run, columns)
		if err != nil {
			return nil, err
		}
		run.Matrix.Order = board.Order()
		return &blocks{design: d, board: board}, nil
	case experiment.Rows:
		run.Matrix.Order = result.Order{
			Design:     result.Rows,
			Method:     "row by row: drift makes rows differ, so none is judged",
			BlockCells: 1,
		}
	case experiment.Pairs:
		run.Matrix.Order = result.Order{Design: result.Pairs, Method: s.Method, BlockCells: 2}
		if len(s.First) > 0 {
			run.Matrix.Order.First = [][]int{{s.First[0], 1 - s.First[0]}}
		}
	}
	return newTurns(d, s), nil
}
