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

// uncut is the advice where the budget ended before all planned samples were taken.
const uncut = "give a longer --budget, or --samples without --budget for a fixed number"

// laps takes the cells in turn: a plain run, whose cells are not compared.
type laps struct {
	design
	order  []int
	random *rand.Rand // nil: every lap has the same order
	lap    int        // number of complete laps, including warm-ups
	at     int        // position in order, in the lap in progress
	kept   int
	early  bool // a warm-up used up the time and became the sample
	cut    bool // the last sample was cut short
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

// judge does nothing: there are no cells.
func (d *design) judge() {}

// warnings returns the warnings of a schedule that ends when it is complete or no cell is left.
func (d *design) warnings() []result.Warning { return d.faults.Warnings(d.names) }

func (d *design) spend(seconds float64) {
	if d.budget > 0 {
		d.budget = max(math.SmallestNonzeroFloat64, d.budget-seconds) // 0: no limit
	}
}

func newLaps(d design, order experiment.Order) *laps {
	l := &laps{design: d}
	for cell := range d.cells {
		l.order = append(l.order, cell)
	}
	if order == experiment.Shuffled {
		l.random = rand.New(rand.NewPCG(d.seed, 0))
	}
	return l
}

func (l *laps) over(elapsed float64) bool {
	return l.budget > 0 && elapsed >= l.budget || l.duration > 0 && elapsed >= l.duration
}

func (l *laps) next(elapsed float64) (slot result.Slot, more bool) {
	if l.early || l.kept > 0 && l.over(elapsed) || l.faults.Left(l.cells) == 0 {
		return slot, false
	}
	for l.at < l.cells && l.faults.GivenUp(l.order[l.at]) {
		l.advance()
	}
	if l.duration == 0 && l.lap >= l.warmup+l.samples {
		return slot, false
	}
	return result.Slot{Cell: l.order[l.at], Round: max(0, l.lap-l.warmup)}, true
}

// advance goes to the next place of the lap, or to the next lap. The warm-ups and the first round follow the cells'
// order.
func (l *laps) advance() {
	if l.at++; l.at < l.cells {
		return
	}
	l.at, l.lap = 0, l.lap+1
	if l.random != nil && l.lap > l.warmup {
		l.random.Shuffle(l.cells, func(i, j int) { l.order[i], l.order[j] = l.order[j], l.order[i] })
	}
}

func (l *laps) check(_ *result.Sample, elapsed float64) (counts bool) {
	l.early = l.lap < l.warmup && l.over(elapsed)
	return l.early || l.lap >= l.warmup
}

func (l *laps) add(s result.Sample, _ float64) error {
	l.cut = s.Partial
	l.faults.Add(l.order[l.at], s)
	if l.early || l.lap >= l.warmup {
		l.kept++
	}
	l.advance()
	return nil
}

func (l *laps) course() result.Course {
	c := result.Course{Budget: l.budget, Duration: l.duration}
	if l.duration == 0 {
		c.Samples = (l.samples + l.warmup) * l.cells
	}
	return c
}

func (l *laps) warnings() []result.Warning {
	warnings := l.design.warnings()
	switch {
	case l.early:
		warnings = append(warnings, result.Warning{
			Code:    "no-warmup",
			Message: "the first execution used up the time, so it is the sample and no warm-up was dropped",
			Hint:    "give a longer --budget or --duration, or --samples without them",
		})
	case l.duration == 0 && l.cut:
		warnings = append(warnings, result.Warning{
			Code: "budget", Message: "the budget ended during a sample, which is cut short",
			Hint: "give a longer --budget, or less work",
		})
	case l.duration == 0 && l.faults.Left(l.cells) > 0 && l.lap < l.warmup+l.samples:
		warnings = append(warnings, result.Warning{
			Code: "budget", Message: "the budget ended before all samples were taken", Hint: uncut,
		})
	}
	return warnings
}

// rows takes all samples of one cell, then all of the next. Each cell has its share of the budget.
type rows struct {
	design
	cell, round int
}

func (r *rows) next(elapsed float64) (slot result.Slot, more bool) {
	late := r.budget > 0 && r.round > 0 && elapsed > r.budget*float64(r.cell+1)/float64(r.cells)
	if r.round == r.samples || late || r.faults.GivenUp(r.cell) {
		r.cell, r.round = r.cell+1, 0
	}
	return result.Slot{Cell: r.cell, Round: r.round}, r.cell < r.cells
}

func (r *rows) check(*result.Sample, float64) bool { return true }

func (r *rows) add(s result.Sample, _ float64) error {
	r.faults.Add(s.Cell, s)
	r.cell, r.round = s.Cell, s.Round+1
	return nil
}

func (r *rows) judge() { matrix.Summarise(r.run, r.figures) }

func (r *rows) course() result.Course {
	return result.Course{Samples: r.samples * r.cells, Budget: r.budget}
}

// pairs takes both cells in each round, in the given order of the round, until one of the two is given up.
type pairs struct {
	design
	first []int // the cell that goes first, by round
	taken int
}

func (p *pairs) next(float64) (slot result.Slot, more bool) {
	round := p.taken / 2
	if round == len(p.first) || p.faults.Left(p.cells) < p.cells {
		return slot, false
	}
	return result.Slot{Cell: p.cell(), Round: round}, true
}

// cell returns the next cell.
func (p *pairs) cell() int {
	first := p.first[p.taken/2]
	if p.taken%2 == 1 {
		return 1 - first
	}
	return first
}

func (p *pairs) check(*result.Sample, float64) bool { return true }

func (p *pairs) add(s result.Sample, _ float64) error {
	p.faults.Add(p.cell(), s)
	p.taken++
	return nil
}
func (p *pairs) judge()                { matrix.JudgePairs(p.run, p.figures) }
func (p *pairs) course() result.Course { return result.Course{Samples: 2 * len(p.first)} }

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

// watch takes samples of one cell until its duration or the run ends.
type watch struct{ design }

func (w *watch) next(elapsed float64) (slot result.Slot, more bool) {
	return slot, (w.duration == 0 || elapsed < w.duration) && !w.faults.GivenUp(0)
}
func (w *watch) check(*result.Sample, float64) bool { return true }

func (w *watch) add(s result.Sample, _ float64) error {
	w.faults.Add(0, s)
	return nil
}
func (w *watch) course() result.Course { return result.Course{Duration: w.duration} }

// newSchedule makes the schedule of a run, and adds its description to the result.
func newSchedule(run *result.Run, columns column.List, order experiment.Order, d design, s experiment.Schedule) (schedule, error) {
	d.run = run
	if run.Matrix != nil {
		var err error
		if d.figures, err = matrix.Figures(run.Matrix, columns); err != nil {
			return nil, err
		}
	}
	switch order {
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
		return &rows{design: d}, nil
	case experiment.Pairs:
		run.Matrix.Order = result.Order{Design: result.Pairs, Method: s.Method, BlockCells: 2}
		if len(s.First) > 0 {
			run.Matrix.Order.First = [][]int{{s.First[0], 1 - s.First[0]}}
		}
		return &pairs{design: d, first: slices.Clone(s.First)}, nil
	case experiment.Watch:
		return &watch{design: d}, nil
	}
	return newLaps(d, order), nil
}
