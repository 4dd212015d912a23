package matrix

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// Judging is a matrix in progress. It decides which sample is taken next, records it, and judges. The same samples give
// the same verdicts, whether they are new or read from a journal.
type Judging struct {
	run     *result.Run
	figures []Comparand // the judged figures; the first decides which samples are taken
	groups  []group
	at      []place                  // of each cell
	rounds  int                      // complete ones
	blocks  []block                  // of the round in progress
	slots   []result.Slot            // the places of the round in progress
	taken   []result.Sample          // of the round in progress
	faults  []Faults                 // by figure: the samples that are invalid or lack it; no valid one lacks the first
	answers map[string]result.Answer // by question
	pairs   map[comparison]*sums
	ties    []ties               // by figure
	samples []stats.Sorted       // by cell, the deciding figure of the samples that count
	ended   float64              // elapsed seconds at the end of the last complete round
	took    float64              // seconds that the last complete round took
	last    float64              // elapsed seconds of the last sample, without those aside
	aside   float64              // seconds that confirming samples took
	cells   []result.InterimCell // as they stood after looked rounds
	looked  int
	gate    FailOn // whose answer ends the run; none: see result.End

	confirming *Confirming // nil: it has not begun
}

// group holds the cells that are compared with one baseline.
type group struct {
	judges   []*stats.Judge // by figure
	cells    []int          // indices in the run, by their numbers for the judges
	baseline int            // index in the run
}

// judge returns the judge of the figure that decides which samples are taken. The others have the same rounds and blocks.
func (g group) judge() *stats.Judge { return g.judges[0] }

// place is a cell's group and its number in the group's judges.
type place struct{ group, cell int }

// block is one block of a round. Its cells are numbered as in the group's judge.
type block struct {
	group int
	cells []int
}

// comparison names a cell and the one that it is compared with, usually its baseline.
type comparison struct{ cell, against int }

// Canonical returns a cell's content, which identifies and orders cells. Its name is not part of it.
func Canonical(c result.Cell) string {
	words := make([]string, 0, len(c.Flags))
	for flag, value := range c.Flags {
		words = append(words, flag+"="+value)
	}
	slices.Sort(words)
	return strings.Join(words, "\x00")
}

// NewJudging returns a judging without samples, even if the run has some. The run's matrix and cells define what is
// compared: the cells that they name exist, and a contrast is of two cells with the same baseline. The columns are those of the
// run's experiment.
func NewJudging(run *result.Run, columns column.List) (*Judging, error) {
	figures, err := Comparands(run, columns)
	if err != nil {
		return nil, err
	}
	b := &Judging{
		run: run, figures: figures, at: make([]place, len(run.Cells)), faults: make([]Faults, len(figures)),
		answers: map[string]result.Answer{}, pairs: map[comparison]*sums{}, samples: make([]stats.Sorted, len(run.Cells)),
		ties: make([]ties, len(figures)), looked: -1,
	}
	if err := b.assign(); err != nil {
		return nil, err
	}
	b.begin()
	return b, nil
}

// group puts each cell into the group of its baseline. Of a search in order, each step is a group.
func (b *Judging) group() {
	for i := range b.run.Cells {
		baseline := b.run.Against(i)
		if b.ordered() && i > 0 {
			b.at[i] = place{i - 1, 1} // the first cell stays at the first place
			b.groups = append(b.groups, group{baseline: baseline, cells: []int{baseline, i}})
		}
		if b.ordered() {
			continue
		}
		g := slices.IndexFunc(b.groups, func(g group) bool { return g.baseline == baseline })
		if g < 0 {
			g, b.groups = len(b.groups), append(b.groups, group{baseline: baseline})
		}
		b.at[i] = place{g, len(b.groups[g].cells)}
		b.groups[g].cells = append(b.groups[g].cells, i)
	}
}

// assign gives each group its judges. All judges share one error rate.
func (b *Judging) assign() error {
	b.group()
	var err error
	if b.gate, err = b.gateOf(b.run.Matrix.Ends()); err != nil {
		return err
	}
	contrasts := make([][]stats.Contrast, len(b.groups)) // with the groups' numbers of the cells
	for _, c := range b.run.Matrix.Contrasts {
		a, of := b.at[c.A], b.at[c.B]
		contrasts[a.group] = append(contrasts[a.group], stats.Contrast{A: a.cell, B: of.cell})
	}
	for i := range b.groups {
		g := &b.groups[i]
		contents := make([]string, len(g.cells))
		for j, cell := range g.cells {
			contents[j] = Canonical(b.run.Cells[cell])
		}
		for _, figure := range b.figures {
			design := figure.of(g.baseline).design(b.run.Matrix, b.run.Comparisons(figure.Second))
			design.Seed, design.Until = b.run.Seed+uint64(i), until(b.run.Matrix.Ends(), figure)
			design.Cells, design.Baseline, design.Contrasts = contents, slices.Index(g.cells, g.baseline), contrasts[i]
			if b.ordered() && figure.decides {
				steps := b.run.Matrix.Steps
				design.Step = &stats.Step{Work: steps[i].Work, Count: len(steps)}
				design.Comparisons /= len(steps) // each step has the whole error of the search
			}
			judge, err := stats.NewJudge(design)
			if err != nil {
				return err
			}
			g.judges = append(g.judges, judge)
		}
	}
	return nil
}

// Order describes the schedule of a run with this judging's design.
func (b *Judging) Order() result.Order {
	o := result.Order{
		Method:     "randomised complete blocks; the baseline and its duplicate have a place in each block",
		BlockCells: stats.BlockCells,
	}
	switch {
	case b.ordered():
		o.Method = "step by step, each in randomised complete blocks of its own; the lower number and its duplicate have a place in each block"
	case len(b.groups) > 1:
		o.Method = "randomised complete blocks, each of cells with the same baseline; it and its duplicate have a place in it"
	}
	o.First = make([][]int, len(b.blocks))
	for _, slot := range b.slots {
		cell := slot.Cell
		if slot.Control {
			cell = len(b.run.Cells)
		}
		o.First[slot.Block] = append(o.First[slot.Block], cell)
	}
	return o
}

// begin lays out the next round: the blocks of the groups that need one, in random order.
func (b *Judging) begin() {
	b.blocks, b.slots, b.taken = nil, nil, b.taken[:0]
	for i, g := range b.groups {
		if !b.open(i) {
			continue
		}
		for _, cells := range g.judge().Next() {
			b.blocks = append(b.blocks, block{i, cells})
		}
	}
	if len(b.groups) > 1 { // those of one judge are in random order
		source := rand.New(rand.NewPCG(b.run.Seed, ^uint64(b.rounds)))
		source.Shuffle(len(b.blocks), func(i, j int) { b.blocks[i], b.blocks[j] = b.blocks[j], b.blocks[i] })
	}
	for i, block := range b.blocks {
		g := b.groups[block.group]
		for _, cell := range block.cells {
			slot := result.Slot{Round: b.rounds, Block: i, Control: cell == g.judge().Control()}
			if slot.Cell = g.baseline; !slot.Control {
				slot.Cell = g.cells[cell]
			}
			b.slots = append(b.slots, slot)
		}
	}
}

// groupDone reports whether more samples of a group are pointless.
func (b *Judging) groupDone(g group) bool { return !b.compares(g) || g.judge().Done() }

// compares reports whether a group has a cell left that can be compared with its baseline.
func (b *Judging) compares(g group) bool {
	return !b.givenUp(g.baseline) &&
		slices.ContainsFunc(g.cells, func(cell int) bool { return cell != g.baseline && !b.givenUp(cell) })
}

func (b *Judging) givenUp(cell int) bool { return b.faults[0].GivenUp(cell) }

// Next returns the place of the next sample; the zero Slot when the judging is done.
func (b *Judging) Next() result.Slot {
	if b.Done() {
		return result.Slot{}
	}
	return b.slots[len(b.taken)]
}

// Between reports whether a round has just ended and the next one has not begun.
func (b *Judging) Between() bool { return len(b.taken) == 0 }

// Rounds returns the number of complete rounds.
func (b *Judging) Rounds() int { return b.rounds }

// Round returns the number of samples of the round in progress, or of the next one.
func (b *Judging) Round() int { return len(b.slots) }

// Taken returns the number of samples that the round in progress has.
func (b *Judging) Taken() int { return len(b.taken) }

// Elapsed returns the time of the run up to its last sample, in seconds.
func (b *Judging) Elapsed() float64 { return b.last + b.aside }

// Done reports whether more samples are pointless. A round in which the last baseline is given up is not completed.
func (b *Judging) Done() bool {
	switch {
	case b.Between():
		return len(b.slots) == 0
	case b.ordered():
		return b.givenUp(b.groups[b.blocks[0].group].baseline)
	}
	return !slices.ContainsFunc(b.groups, func(g group) bool { return !b.givenUp(g.baseline) })
}

// Compares reports whether a cell is left that can be compared with its baseline.
func (b *Judging) Compares() bool { return slices.ContainsFunc(b.groups, b.compares) }

// Warnings names the cells that were given up.
func (b *Judging) Warnings() []result.Warning {
	var names []string
	for _, cell := range b.run.Cells {
		names = append(names, cell.Name)
	}
	return b.faults[0].Warnings(names)
}

// Add adds the sample of the slot that Next returned, which was checked. A block with an invalid sample is not judged, and a cell whose
// samples are invalid three times in a row leaves the matrix. A sample that the budget cut short is taken again when the
// run is resumed.
func (b *Judging) Add(s result.Sample) error {
	if s.Confirms {
		b.confirming.add(s, b.Elapsed())
		b.aside = s.Elapsed - b.last
		return nil
	}
	b.last = s.Elapsed - b.aside
	if s.Partial {
		return nil
	}
	b.taken = append(b.taken, s)
	last := &b.taken[len(b.taken)-1]
	for f, figure := range b.figures {
		b.faults[f].Add(s.Cell, *figure.judgedBy(last))
	}
	if !invalid(last) {
		b.samples[s.Cell].Add(b.figures[0].Of(last))
	}
	if len(b.taken) < len(b.slots) {
		return nil
	}
	if err := b.complete(); err != nil {
		return err
	}
	if b.rounds%max(1, 1<<bits.Len(uint(b.rounds))/gateLooks) == 0 {
		b.release()
	}
	b.begin()
	return nil
}

// Check makes the sample of the slot that Next returned invalid if it cannot be judged.
func (b *Judging) Check(s *result.Sample) { refuse(s, b.Refusal(s)) }

// refuse makes a sample invalid; why is "" for one that can be judged.
func refuse(s *result.Sample, why string) {
	if why != "" {
		s.Quality.Grade, s.Quality.Reasons = result.Invalid, append([]string{why}, s.Quality.Reasons...) // the first reason is shown
	}
}

// Refusal returns why a sample that is not invalid cannot be judged: it lacks the deciding figure, or its work gave another answer than
// the same work before. "": it can be.
func (b *Judging) Refusal(s *result.Sample) string {
	if invalid(s) {
		return ""
	}
	if why := b.figures[0].Refusal(s); why != "" || s.Answer == nil {
		return why
	}
	first, asked := b.answers[s.Answer.Of]
	if !asked {
		b.answers[s.Answer.Of] = *s.Answer
	} else if first != *s.Answer {
		return fmt.Sprintf("%s are %s here and were %s before", s.Answer.Of, s.Answer.Is, first.Is)
	}
	return ""
}

// complete gives the round to the judges, without the blocks that have an invalid sample: leaving out that sample alone
// would be unfair if samples are invalid because they are slow. The judge of a figure also leaves out the blocks in
// which a sample lacks the figure.
func (b *Judging) complete() error {
	type part struct {
		round   stats.Round
		seconds []float64
	}
	parts := make([][]part, len(b.groups)) // by figure; none for a group that was over before
	at := 0
	for _, block := range b.blocks {
		samples := b.taken[at : at+len(block.cells)]
		at += len(block.cells)
		if parts[block.group] == nil {
			parts[block.group] = make([]part, len(b.figures))
		}
		for f, figure := range b.figures {
			if anyOf(samples, figure.lacks) {
				continue
			}
			of := &parts[block.group][f]
			of.round = append(of.round, block.cells)
			for i := range samples {
				of.seconds = append(of.seconds, figure.Of(&samples[i]))
			}
		}
		b.pair(samples)
	}
	b.rounds++
	b.took, b.ended = b.last-b.ended, b.last
	for i, g := range b.groups {
		for f, of := range parts[i] {
			if err := g.judges[f].Add(of.round, of.seconds); err != nil {
				return err
			}
			for cell, of := range g.cells {
				if b.givenUp(of) {
					g.judges[f].Leave(cell)
				}
			}
		}
	}
	return nil
}

// anyOf reports whether one of the samples is so.
func anyOf(samples []result.Sample, is func(*result.Sample) bool) bool {
	for i := range samples {
		if is(&samples[i]) {
			return true
		}
	}
	return false
}

// pair adds what is compared in a block, unless a sample is invalid.
func (b *Judging) pair(samples []result.Sample) {
	if anyOf(samples, invalid) {
		return
	}
	block := map[int]*result.Sample{} // by cell
	for i := range samples {
		if s := &samples[i]; !s.Control {
			block[s.Cell] = s
		}
	}
	add := func(c comparison) {
		if of, sampled := block[c.cell]; sampled {
			if base, found := block[c.against]; found {
				b.addPair(c, of, base)
			}
		}
	}
	for cell := range block {
		if against := b.run.Against(cell); cell != against {
			add(comparison{cell, against})
		}
	}
	for _, contrast := range b.run.Matrix.Contrasts {
		add(comparison{contrast.B, contrast.A})
	}
}

// addPair adds two samples of a block that are compared.
func (b *Judging) addPair(c comparison, of, base *result.Sample) {
	p := b.pairs[c]
	if p == nil {
		p = b.newSums()
		b.pairs[c] = p
	}
	cpus := func(cell int) int { return b.run.Cells[cell].CPUs["cpus"].Count }
	p.disturb(of.Quality.Signals, base.Quality.Signals, cpus(c.cell), cpus(c.against))
	first := math.NaN()
	for f, figure := range b.figures {
		if !figure.known(of) || !figure.known(base) {
			continue
		}
		log := math.Log(figure.Of(of) / figure.Of(base))
		b.ties[f].add(c, figure, of, base)
		if f == 0 {
			first = log
		}
		p.add(f, of.Round, log, first)
	}
}

// roundSeconds returns the average duration of a round; 0 before the first is complete.
func (b *Judging) roundSeconds() float64 { return b.ended / float64(max(1, b.rounds)) }

// ToFirst returns how many more rounds it takes until each cell certainly has an interval.
func (b *Judging) ToFirst() (rounds int) {
	for _, v := range b.verdicts(b.foreseen) {
		if f := v.decides.Forecast; f != nil && f.Kind == stats.FirstInterval {
			rounds = max(rounds, f.Rounds)
		}
	}
	return rounds
}

// Interim returns the state of the matrix. The verdicts are those of the last complete round.
func (b *Judging) Interim() result.Interim {
	m := b.run.Matrix
	if b.looked != b.rounds {
		b.looked = b.rounds
		b.cells = make([]result.InterimCell, len(b.run.Cells))
		for i, v := range b.verdicts(b.foreseen) {
			at := b.at[i]
			g := b.groups[at.group]
			b.cells[i] = result.InterimCell{
				Name: b.run.Cells[i].Name, Baseline: i == g.baseline, Verdict: v.decides, Verdicts: v.others,
				Seconds: b.samples[i].Median(), By: b.run.Cells[i].By,
				Open: slices.Contains(g.judge().Live(), at.cell) && b.open(at.group),
			}
		}
	}
	s := result.Interim{
		Rounds: b.rounds, Planned: m.Planned(), Elapsed: b.Elapsed(), Left: b.remaining(),
		Control: b.groups[0].judge().ControlVerdict(), Label: b.figures[0].Label, Figures: m.Figures, Cells: b.cells,
	}
	for i, g := range b.groups { // the first that is not settled
		if b.ordered() && i != min(b.step(), len(b.groups)-1) {
			continue
		}
		if v := g.judge().ControlVerdict(); v.Kind != stats.Same {
			s.Control = v
			break
		}
	}
	for i := range b.samples {
		s.Samples += b.samples[i].Len()
	}
	switch c := b.confirming; {
	case c != nil && b.Between() && !c.Done():
		s.Running = c.Name(c.Place())
	case !b.Done():
		s.Running = b.run.Cells[b.Next().Cell].Name
	}
	return s
}

// remaining returns an upper bound of the remaining time of the run, in seconds; -1 where it is not known.
func (b *Judging) remaining() float64 {
	m, round := b.run.Matrix, b.roundSeconds()
	left := -1.0
	if m.Budget > 0 {
		left = max(0, m.Budget-b.Elapsed())
	}
	need := 0.0
	switch {
	case round == 0, b.ordered(): // the steps after this one are not known
		return left
	case m.Planned() > 0:
		need = round * float64(m.Planned()-b.rounds)
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

// LeastRounds is the number of rounds before a cell can leave: the first look at its total.
const LeastRounds = stats.FirstLook
