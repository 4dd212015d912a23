package matrix

import (
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// JudgePairs sets the verdicts and summaries of the cells of a run in pairs. It compares the samples of each round: the cell's and
// the baseline's, taken one after the other, form a pair. A pair with an invalid sample is left out. The verdict is from
// stats.PairedSamples, with its limits. The same samples give the same verdicts, whether they are new or read from a journal.
func JudgePairs(run *result.Run, figures []Comparand) {
	Summarise(run, figures)
	m := run.Matrix
	verdicts := make([]judgement, len(run.Cells))
	cells := run.ByCell()
	for f, figure := range figures {
		faults := faultsOf(run, figure)
		design := figure.of(m.Baseline).design(m, (len(run.Cells)-1)*family(figures, figure.Second))
		for i := range run.Cells {
			if i == m.Baseline || f > 0 && (faults.none(i) || faults.none(m.Baseline)) {
				continue
			}
			seconds, baseline := paired(cells[i], cells[run.Against(i)], figure)
			v, _ := faults.correct(stats.PairedSamples(seconds, baseline, design), i, m.Baseline, "the baseline")
			if v.MoreRounds > 0 {
				v.MoreSeconds = run.Samples.Last().Elapsed / float64(v.Rounds) * float64(v.MoreRounds)
			}
			verdicts[i].add(f, figure, v)
		}
	}
	for i, v := range verdicts {
		if i != m.Baseline {
			cell := &run.Cells[i]
			cell.Verdict, cell.Verdicts, cell.Words = &v.decides, v.others, v.decides.String()
		}
	}
}

// Summarise sets the summaries of the cells, by the deciding figure. A metric, or another figure with a unit of its own, is summarised
// in addition to the wall seconds.
func Summarise(run *result.Run, figures []Comparand) {
	seconds, metrics := make([][]float64, len(run.Cells)), make([][]float64, len(run.Cells))
	others := make([][][]float64, len(figures)) // by figure, without the first, and by cell
	for f := range others {
		others[f] = make([][]float64, len(run.Cells))
	}
	for _, s := range run.Samples.Each() {
		if !s.Good() {
			continue
		}
		for f, other := range figures[1:] {
			if x, known := other.raw(s); known {
				others[f+1][s.Cell] = append(others[f+1][s.Cell], x)
			}
		}
		took, figure := s.Seconds, figures[0].Of(s)
		switch {
		case run.Matrix.Compared != result.MetricColumn && run.Cells[s.Cell].By == nil:
			took = figure
		case figures[0].of(s.Cell).rate:
			metrics[s.Cell] = append(metrics[s.Cell], 1/figure)
		default:
			metrics[s.Cell] = append(metrics[s.Cell], figure)
		}
		seconds[s.Cell] = append(seconds[s.Cell], took)
	}
	for i := range run.Cells {
		summary := result.SummaryOf(seconds[i])
		run.Cells[i].Summary = summary
		if summary == nil {
			continue
		}
		if metrics[i] != nil {
			summary.Metric = new(result.Distribute(metrics[i]))
		}
		for f, other := range figures {
			if of := others[f][i]; of != nil {
				if summary.Figures == nil {
					summary.Figures = map[string]result.FigureSummary{}
				}
				summary.Figures[other.Column] = result.FigureSummary{Unit: string(other.in(run)), Distribution: result.Distribute(of)}
			}
		}
	}
}
