package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/column"
	"gorun/internal/result"
	"gorun/internal/stats"
)

// Board is a matrix in progress. It says which sample is to be taken next, takes it, and judges: the same samples give
// the same verdicts, whether they were taken just now or read from a journal.
type Board struct {
	run   *result.Run
	time  func(result.Sample) float64 // what is compared
	race  *stats.Race
	round stats.Round     // the one in progress
	slots []result.Slot   // its places
	taken []result.Sample // of the round in progress

	invalid map[int]string           // cells that cannot be run as asked, and why
	answers map[string]result.Answer // by question
	blocks  map[int][]pair           // by cell: its sample and the baseline's of the same block, for the disturbances
	samples [][]float64              // by cell, seconds of the samples that count
	ended   float64                  // elapsed seconds at the end of the last complete round
	last    float64                  // elapsed seconds of the last sample
	cells   []result.StandingCell    // as they stood after so many rounds:
	looked  int
}

// pair is what disturbed a cell's sample and the baseline's of its block.
type pair struct{ cell, base result.Signals }

// Canonical is a cell's content, by which cells are told apart and put in order; its name is not part of it.
func Canonical(c result.Cell) string {
	words := make([]string, 0, len(c.Flags))
	for flag, value := range c.Flags {
		words = append(words, flag+"="+value)
	}
	slices.Sort(words)
	return strings.Join(words, "\x00")
}

// NewBoard begins with no sample, whatever the run has. The run's matrix and cells say what is compared; the columns are
// those of its experiment.
func NewBoard(run *result.Run, columns column.List) (*Board, error) {
	if run.Matrix == nil {
		return nil, errors.New("the run has no cells to compare")
	}
	contents := make([]string, len(run.Cells))
	for i, cell := range run.Cells {
		contents[i] = Canonical(cell)
	}
	m := run.Matrix
	time, err := Time(m, columns)
	if err != nil {
		return nil, err
	}
	race, err := stats.NewRace(stats.Design{
		Seed: run.Seed, Cells: contents, Baseline: m.Baseline, Alpha: m.Alpha, Margin: m.Margin, Precision: m.Precision,
		Rounds: m.Rounds, Rate: m.Better == result.Higher,
	})
	if err != nil {
		return nil, err
	}
	b := &Board{
		run: run, time: time, race: race, invalid: map[int]string{}, answers: map[string]result.Answer{},
		blocks: map[int][]pair{}, samples: make([][]float64, len(run.Cells)), looked: -1,
	}
	b.begin()
	return b, nil
}

// Order describes the schedule of a run with this board's design.
func (b *Board) Order() result.Order {
	first := b.race.Next()
	return result.Order{
		Method:     "randomised complete blocks; the baseline has a place in each block",
		BlockCells: stats.BlockCells,
		First:      first,
	}
}

// begin lays out the next round.
func (b *Board) begin() {
	b.round, b.slots, b.taken = b.race.Next(), nil, nil
	for block, cells := range b.round {
		for _, cell := range cells {
			slot := result.Slot{Cell: cell, Round: b.race.Rounds(), Block: block}
			if cell == b.race.Control() {
				slot.Cell, slot.Control = b.run.Matrix.Baseline, true
			}
			b.slots = append(b.slots, slot)
		}
	}
}

// Next is the place of the next sample.
func (b *Board) Next() result.Slot { return b.slots[len(b.taken)] }

// Between tells whether a round has just ended and the next one has not begun.
func (b *Board) Between() bool { return len(b.taken) == 0 }

// Rounds is how many are complete.
func (b *Board) Rounds() int { return b.race.Rounds() }

// Round is how many samples the next round takes, or the one in progress.
func (b *Board) Round() int { return len(b.slots) }

// Elapsed is the time of the run up to its last sample, in seconds.
func (b *Board) Elapsed() float64 { return b.last }

// Done tells whether more samples would serve nothing.
func (b *Board) Done() bool {
	return b.Between() && (b.race.Done() || len(b.invalid) == len(b.run.Cells)-1)
}

// Add takes the sample of the place that Next named. A cell whose sample is invalid leaves the matrix; where that is the
// baseline, nothing can be compared, and the error says why.
func (b *Board) Add(s result.Sample) error {
	if want := b.Next(); s.Slot == nil || s.Cell != want.Cell || s.Control != want.Control || s.Round != want.Round ||
		s.Block != want.Block {
		return fmt.Errorf("sample %d is not the one that the seed puts there", s.Index)
	}
	b.Check(&s)
	b.last = s.Elapsed
	b.taken = append(b.taken, s)
	if s.Quality.Verdict == result.Invalid {
		if s.Cell == b.run.Matrix.Baseline {
			return fmt.Errorf("the baseline cannot be measured: %s", reason(s))
		}
		b.invalid[s.Cell] = reason(s)
	} else {
		b.samples[s.Cell] = append(b.samples[s.Cell], b.time(s))
	}
	if len(b.taken) < len(b.slots) {
		return nil
	}
	if err := b.complete(); err != nil {
		return err
	}
	b.begin()
	return nil
}

// Check makes a sample invalid whose work did not come to what the same work came to before.
func (b *Board) Check(s *result.Sample) {
	if s.Answer == nil || s.Quality.Verdict == result.Invalid {
		return
	}
	first, asked := b.answers[s.Answer.Of]
	if !asked {
		b.answers[s.Answer.Of] = *s.Answer
		return
	}
	if first != *s.Answer {
		s.Quality.Verdict = result.Invalid
		s.Quality.Reasons = append([]string{fmt.Sprintf("%s are %s here and were %s before",
			s.Answer.Of, s.Answer.Is, first.Is)}, s.Quality.Reasons...) // first: it is what reason tells
	}
}

// reason is why a sample is invalid.
func reason(s result.Sample) string {
	if len(s.Quality.Reasons) == 0 {
		return "no reason recorded"
	}
	return s.Quality.Reasons[0]
}

// complete gives the round to the race, without the cells that turned out invalid.
func (b *Board) complete() error {
	round := make(stats.Round, len(b.round))
	var seconds []float64
	at := 0
	for block, cells := range b.round {
		base := b.taken[at+slices.Index(cells, b.run.Matrix.Baseline)]
		for _, cell := range cells {
			s := b.taken[at]
			at++
			if s.Quality.Verdict == result.Invalid {
				continue
			}
			round[block] = append(round[block], cell)
			seconds = append(seconds, b.time(s))
			if cell != b.run.Matrix.Baseline {
				b.blocks[cell] = append(b.blocks[cell], pair{s.Quality.Signals, base.Quality.Signals})
			}
		}
	}
	if err := b.race.Add(round, seconds); err != nil {
		return err
	}
	for cell := range b.invalid {
		b.race.Leave(cell)
	}
	b.ended = b.last
	return nil
}

// roundSeconds is how long a round took; 0 before the first is complete.
func (b *Board) roundSeconds() float64 {
	if b.race.Rounds() == 0 {
		return 0
	}
	return b.ended / float64(b.race.Rounds())
}

// Judge puts the verdicts and summaries on the run's cells.
func (b *Board) Judge() {
	verdicts := b.verdicts()
	for i := range b.run.Cells {
		cell := &b.run.Cells[i]
		cell.Summary = b.summarise(i)
		if i != b.run.Matrix.Baseline {
			cell.Verdict, cell.Words = &verdicts[i], verdicts[i].String()
		}
	}
	control := b.race.ControlVerdict()
	b.run.Matrix.Control, b.run.Matrix.Ranking = &control, b.run.Rank()
}

// summarise derives a cell's summary from what was compared. A metric has a unit of its own, and stands beside the wall
// seconds.
func (b *Board) summarise(cell int) *result.Summary {
	if b.run.Matrix.Datum != result.DatumMetric {
		samples := make([]result.Sample, len(b.samples[cell]))
		for i, s := range b.samples[cell] {
			samples[i].Seconds = s
		}
		return result.Summarise(samples)
	}
	var samples []result.Sample
	var figures []float64
	for _, s := range b.run.Samples {
		if s.Slot == nil || s.Cell != cell || s.Quality.Verdict == result.Invalid {
			continue
		}
		samples = append(samples, s)
		figure := b.time(s)
		if b.run.Matrix.Better == result.Higher {
			figure = 1 / figure
		}
		figures = append(figures, figure)
	}
	summary := result.Summarise(samples)
	if summary != nil {
		metric := result.Distribute(figures)
		summary.Metric = &metric
	}
	return summary
}

// verdicts are the race's, and what the samples' quality says beyond them.
func (b *Board) verdicts() []stats.Verdict {
	verdicts := b.race.Verdicts(b.roundSeconds())
	for cell := range verdicts {
		if cell == b.run.Matrix.Baseline {
			continue
		}
		if why, found := b.invalid[cell]; found {
			verdicts[cell] = stats.InvalidVerdict(why)
			continue
		}
		verdicts[cell] = b.disturbed(cell, verdicts[cell])
	}
	return verdicts
}

// Standing is where the matrix stands. The verdicts are those of the last complete round.
func (b *Board) Standing() result.Standing {
	m := b.run.Matrix
	if b.looked != b.race.Rounds() {
		b.looked = b.race.Rounds()
		verdicts, live := b.verdicts(), b.race.Live()
		b.cells = make([]result.StandingCell, len(verdicts))
		for i, v := range verdicts {
			b.cells[i] = result.StandingCell{
				Name: b.run.Cells[i].Name, Open: slices.Contains(live, i), Verdict: v, Seconds: stats.Median(b.samples[i]),
			}
		}
	}
	next := b.Next()
	s := result.Standing{
		Running: b.run.Cells[next.Cell].Name, Samples: b.count(), Rounds: b.race.Rounds(), Planned: m.Rounds,
		Elapsed: b.last, Left: b.left(), Control: b.race.ControlVerdict(), Cells: b.cells, Baseline: m.Baseline,
	}
	return s
}

func (b *Board) count() int {
	n := len(b.invalid)
	for _, seconds := range b.samples {
		n += len(seconds)
	}
	return n
}

// left is how many seconds the run will take on, at most; -1 where that is not known.
func (b *Board) left() float64 {
	m, round := b.run.Matrix, b.roundSeconds()
	left := -1.0
	if m.Budget > 0 {
		left = max(0, m.Budget-b.last)
	}
	need := 0.0
	switch {
	case round == 0:
		return left
	case m.Rounds > 0:
		need = round * float64(m.Rounds-b.race.Rounds())
	default:
		for _, cell := range b.cells {
			if cell.Open && cell.Verdict.MoreRounds == 0 {
				return left
			}
			need = max(need, cell.Verdict.MoreSeconds)
		}
	}
	if left < 0 {
		return need
	}
	return min(left, need)
}

// LeastRounds is how many are taken before a cell can leave: the first look at its total.
const LeastRounds = 25
