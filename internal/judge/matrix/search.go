package matrix

import (
	"fmt"

	"gorun/internal/base/units"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// Search looks for the first cell of a history that is worse than those that it follows. Which cells it samples next follows from the
// samples so far and their times, so that the same samples give the same search, whether they are new or read from a journal.
type Search struct {
	run    *result.Run
	shown  Comparand // the figure as it is measured
	figure Comparand // that figure, or its inverse: the larger of two is worse
	search *stats.Search
	faults Faults // of the whole run
	slots  []result.Slot
	taken  []result.Sample // of the round in progress
	rounds int
	budget float64 // seconds of a stage after its first round, in which cells may be built; 0: no limit
	stages int     // that have begun
	first  float64 // elapsed at the end of the first round of the stage; negative: it is in progress
	before float64 // elapsed at the end of the round before
	last   float64 // elapsed at the end of the last sample
}

// Searched describes how a search takes samples.
var Searched = result.Order{
	Design:     result.Search,
	Method:     "the ends, a middle with both ends in the same blocks, and the cell that is found with the one before it; each block in random order",
	BlockCells: 3,
}

// NewSearch returns a search without samples, even if the run has some. The columns are those of the run's experiment.
func NewSearch(run *result.Run, columns column.List) (*Search, error) {
	figures, err := Comparands(run, columns)
	if err != nil {
		return nil, err
	}
	m := run.Matrix
	figure := figures[0]
	if m.Compared == "" && m.Better == result.Higher { // a longer time is better: the inverse is larger where it is worse
		figure = figureOf(column.Wall, true)
	}
	design := figure.of(m.Baseline).design(m, 0)
	design.Seed, design.Rounds = run.Seed, m.Rounds
	search, err := stats.NewSearch(design, m.History, m.Baseline, len(run.Cells)-1)
	if err != nil {
		return nil, err
	}
	if len(m.History) != len(run.Cells) {
		return nil, fmt.Errorf("the history has %d cells, and the run %d", len(m.History), len(run.Cells))
	}
	b := &Search{run: run, shown: figures[0], figure: figure, search: search, budget: m.Budget}
	b.begin()
	return b, nil
}

// begin lays out the next round.
func (b *Search) begin() {
	b.taken, b.slots = b.taken[:0], nil
	if b.search.Done() {
		return
	}
	stages := b.search.Stages()
	if len(stages) != b.stages {
		b.stages, b.first = len(stages), -1
	}
	for _, cell := range b.search.Next() {
		slot := result.Slot{Cell: cell, Round: b.rounds}
		if cell < 0 {
			slot.Cell, slot.Control = stages[len(stages)-1].Good, true
		}
		b.slots = append(b.slots, slot)
	}
}

// Done reports whether the search has ended.
func (b *Search) Done() bool { return b.search.Done() }

// Place returns the place of the next sample; the zero Slot when the search has ended.
func (b *Search) Place() result.Slot {
	if b.Done() {
		return result.Slot{}
	}
	return b.slots[len(b.taken)]
}

// Next implements Sequence.
func (b *Search) Next(float64) (result.Slot, bool) { return b.Place(), !b.Done() }

// Check implements Sequence.
func (b *Search) Check(s *result.Sample, _ float64) bool {
	s.Slot = new(b.Place()) // the figure that it must have is that of its cell
	refuse(s, b.figure.Refusal(s))
	return true
}

// Refusal returns why a sample that is not invalid cannot be judged; "": it can be.
func (b *Search) Refusal(s *result.Sample) string { return b.figure.Refusal(s) }

// skipped returns why a cell is left out: its first sample is invalid, because it does not build or its command fails, or too many are;
// "": it is not.
func (b *Search) skipped(cell int) string {
	if of := b.faults.cells[cell]; of.left || of.taken == 1 && of.invalid == 1 {
		return of.reason
	}
	return b.faults.spoil(cell, b.run.Cells[cell].Name)
}

// Add implements Sequence.
func (b *Search) Add(s result.Sample, elapsed float64) error {
	b.last = elapsed
	if s.Partial {
		return nil
	}
	b.taken = append(b.taken, s)
	b.faults.Add(s.Cell, s)
	if b.skipped(s.Cell) != "" {
		err := b.search.Skip(s.Cell)
		b.begin()
		return err
	}
	if len(b.taken) < len(b.slots) {
		return nil
	}
	var seconds []float64
	if !anyOf(b.taken, invalid) {
		for i := range b.taken {
			seconds = append(seconds, b.figure.Of(&b.taken[i]))
		}
	}
	b.rounds++
	stage := len(b.search.Stages())
	if err := b.search.Add(seconds); err != nil {
		return err
	}
	took := elapsed - b.before
	switch now := len(b.search.Stages()); {
	case b.Done() || now != stage:
	case b.first < 0:
		b.first = elapsed
	case b.budget > 0 && elapsed-b.first+took > b.budget:
		if err := b.search.Expire(); err != nil {
			return err
		}
	}
	b.before = elapsed
	b.begin()
	return nil
}

// Spend implements Sequence: the budget is that of a stage.
func (b *Search) Spend(float64) {}

// Extent implements Sequence: how long a search takes is not known.
func (b *Search) Extent() result.Extent { return result.Extent{} }

// Stage describes the stage in progress, for the line on a terminal.
func (b *Search) Stage() string {
	return fmt.Sprintf("stage %d, %s left: ", len(b.search.Stages()), units.Things(len(b.search.Left()), "revision"))
}

// Elapsed returns the time of the run up to its last sample, in seconds.
func (b *Search) Elapsed() float64 { return b.last }

// Warnings implements Sequence.
func (b *Search) Warnings() []result.Warning { return nil }

// Judge implements Sequence: it sets what the search has found so far.
func (b *Search) Judge() {
	Summarise(b.run, []Comparand{b.shown})
	found := &result.Searched{Stages: append([]stats.Stage{}, b.search.Stages()...), Left: b.search.Left(), Skipped: map[int]string{}}
	if !b.Done() {
		found.Stages[len(found.Stages)-1] = b.search.Standing()
	}
	for cell := range b.run.Cells {
		if why := b.skipped(cell); why != "" {
			found.Skipped[cell] = why
		}
	}
	b.run.Matrix.Search = found
}
