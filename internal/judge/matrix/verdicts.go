package matrix

import (
	"maps"
	"slices"

	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// Rules is the version of the rules by which verdicts follow from samples. A change after which the same samples may get another
// verdict, or another summary, increments it: results that were written by other rules are not compared with what follows now. Since 2, the
// header has the flags that were asked for. Since 3, it says when a cell is sampled enough. Since 4, most of the wealth of a bettor is on the
// larger stakes. Since 5, it has the steps of a search in order. Since 6, all pairs of cells share the error of the best one. Since 7, a
// baseline that differs from its duplicate makes intervals wider.
const Rules = 7

const (
	// Reproduced is the version of the rules from which on the verdicts of a run are those that its gorun gave.
	Reproduced = 3
	boldSince  = 4
	// StepsSince is the version of the rules from which on numbers are asked about in order. A run that began before measures all of them.
	StepsSince = 5
	bestSince  = 6
	apartSince = 7
)

// Judge sets the verdicts and summaries of the run's cells.
func (b *Judging) Judge() {
	verdicts := b.verdicts(b.foreseen)
	b.judgeContrasts()
	Summarise(b.run, b.figures)
	m := b.run.Matrix
	for i := range b.run.Cells {
		cell := &b.run.Cells[i]
		if i != b.run.Against(i) {
			cell.Verdict, cell.Words = &verdicts[i].decides, verdicts[i].decides.String()
			cell.Verdicts = verdicts[i].others
			if m.Layouts > 1 {
				cell.Layouts, _ = b.layoutRatios(comparison{i, b.run.Against(i)}, 0)
			}
		}
	}
	control := b.control(b.groups[b.at[m.Baseline].group])
	m.Control, m.ControlVerdicts = &control.decides, control.others
	if m.Ends().Enough == result.EnoughBest {
		m.Best = b.best()
	}
	switch {
	case b.ordered():
		m.Reached = new(b.reached())
	case len(b.groups) == 1:
		m.Ranking, m.Groups = b.run.Rank(), b.run.Grouped()
		return
	}
	m.Controls = nil
	for _, g := range b.groups {
		if b.ordered() && g.judge().Rounds() == 0 {
			break
		}
		control := b.control(g)
		m.Controls = append(m.Controls, result.Control{Baseline: g.baseline, Verdict: control.decides, Verdicts: control.others})
	}
}

// best returns the best cell, as far as it is known.
func (b *Judging) best() *result.Best {
	g := b.groups[0]
	of := g.judge().Best()
	best := &result.Best{Left: make([]int, len(of.Left)), Out: []result.Out{}}
	for i, cell := range of.Left {
		best.Left[i] = g.cells[cell]
	}
	for _, cell := range slices.Sorted(maps.Keys(of.Out)) {
		best.Out = append(best.Out, result.Out{Cell: g.cells[cell], Than: g.cells[of.Out[cell]]})
	}
	if of.Winner >= 0 {
		best.Winner = new(g.cells[of.Winner])
	}
	return best
}

// judgement holds the verdicts on one cell.
type judgement struct {
	decides stats.Verdict            // on the figure that decides which samples are taken
	others  map[string]stats.Verdict // by column; without those that no sample has
}

// addVerdict adds the verdict on a figure.
func (j *judgement) add(f int, figure Comparand, v stats.Verdict) {
	v.Second = figure.Second
	if f == 0 {
		j.decides = v
		return
	}
	if j.others == nil {
		j.others = map[string]stats.Verdict{}
	}
	j.others[figure.Column] = v
}

// foreseen returns the verdicts of a judge with forecasts.
func (b *Judging) foreseen(judge *stats.Judge) []stats.Verdict {
	return judge.Verdicts(b.roundSeconds())
}

// notTried is the reason why nothing is known of a step.
const notTried = "not tried: a step before it is not shown to scale"

// verdicts returns the verdicts that of takes from the judges, corrected by the samples' quality. A baseline has none.
func (b *Judging) verdicts(of func(*stats.Judge) []stats.Verdict) []judgement {
	verdicts := make([]judgement, len(b.run.Cells))
	for _, g := range b.groups {
		for f, figure := range b.figures {
			if b.ordered() && g.judge().Rounds() == 0 {
				if f == 0 {
					verdicts[g.cells[1]].decides = stats.Verdict{Margin: b.run.Matrix.Margin}.Unjudged(notTried)
				}
				continue
			}
			against := "the baseline"
			if b.ordered() {
				against = "cell " + b.run.Cells[g.baseline].Name
			}
			for i, v := range of(g.judges[f]) {
				if cell := g.cells[i]; cell != g.baseline {
					b.addVerdict(&verdicts[cell], f, figure, comparison{cell, g.baseline}, against, v)
				}
			}
		}
	}
	return verdicts
}

// addVerdict adds a judge's verdict on a figure of a comparison, corrected by the samples' quality.
func (b *Judging) addVerdict(j *judgement, f int, figure Comparand, c comparison, against string, v stats.Verdict) {
	faults := &b.faults[f]
	if f > 0 && (faults.none(c.cell) || faults.none(c.against)) || figure.Second && b.derived(f) {
		return // there is no sample to judge, or nothing new to say
	}
	v, sound := faults.correct(v, c.cell, c.against, against)
	if sound {
		v = b.disturbed(c, b.onCode(c, f, b.ties[f].correct(v, c, figure.of(c.cell).in(b.run))))
	}
	j.add(f, figure, v)
}

// mostOwn is the greatest share of a figure's deviation from the deciding one, of that figure's own deviation, at which it
// follows from it: the rounding of both.
const mostOwn = 0.3

// derived reports whether a figure follows from the deciding figure in each sample, as a throughput follows from the time:
// within comparisons, one deviates from its mean as the other does. A verdict on it would say the same again.
func (b *Judging) derived(f int) bool {
	var own, deciding float64
	for _, p := range b.pairs {
		own += p.figures[f].both.squares
		deciding += p.figures[f].deciding.squares
	}
	return deciding > 0 && own <= mostOwn*mostOwn*deciding
}

// judgeContrasts sets the verdicts on the contrasts of the run, which are in the order of the judges.
func (b *Judging) judgeContrasts() {
	m := b.run.Matrix
	if len(m.Contrasts) == 0 {
		return
	}
	judged := make([]judgement, len(m.Contrasts))
	for f, figure := range b.figures {
		of := make([][]stats.Verdict, len(b.groups))
		for i, g := range b.groups {
			of[i] = g.judges[f].Contrasts(b.roundSeconds())
		}
		for i, c := range m.Contrasts {
			g := b.at[c.A].group
			b.addVerdict(&judged[i], f, figure, comparison{c.B, c.A}, "cell "+b.run.Cells[c.A].Name, of[g][0])
			of[g] = of[g][1:]
		}
	}
	m.Contrasts = slices.Clone(m.Contrasts)
	for i, j := range judged {
		m.Contrasts[i].Verdict, m.Contrasts[i].Verdicts = &j.decides, j.others
	}
}

// control returns the verdicts on the duplicate of a group's baseline.
func (b *Judging) control(g group) (control judgement) {
	for f, figure := range b.figures {
		if f == 0 || !b.faults[f].none(g.baseline) && !(figure.Second && b.derived(f)) {
			control.add(f, figure, g.judges[f].ControlVerdict())
		}
	}
	return control
}
