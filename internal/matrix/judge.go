package matrix

import (
	"cmp"
	"fmt"

	"gorun/internal/column"
	"gorun/internal/result"
	"gorun/internal/stats"
)

// judges holds the function that judges the cells of each design. To add a design, name it in result and add its row.
var judges = map[string]func(*result.Run, column.List) error{
	"":           judgeBlocks,
	result.Pairs: judgePairs,
	result.Rows:  summariseCells,
}

// Judge sets the verdicts and summaries of the cells of a run, by its design. The same samples give the same verdicts,
// whether they are new or read from a journal. A run without cells to compare is not changed. The columns are those of
// the run's experiment.
func Judge(run *result.Run, columns column.List) error {
	if run.Matrix == nil {
		return nil
	}
	return judges[run.Matrix.Order.Design](run, columns)
}

// Judged returns the function that gets the figure of a sample that decides when a run stops, or an error if this gorun
// cannot judge the run. The columns are those of the run's experiment.
func Judged(m *result.Matrix, columns column.List) (func(result.Sample) float64, error) {
	if _, known := judges[m.Order.Design]; !known {
		return nil, fmt.Errorf("this gorun does not know the design %q", m.Order.Design)
	}
	for _, share := range []struct {
		name  string
		value float64
	}{{"error rate", m.Alpha}, {"margin", m.Margin}, {"precision", m.Precision}} {
		if !(share.value > 0 && share.value < 1) && m.Order.Design != result.Rows {
			return nil, fmt.Errorf("the %s, %v, is not between 0 and 1", share.name, share.value)
		}
	}
	return Time(m, columns)
}

func judgeBlocks(run *result.Run, columns column.List) error {
	board, err := NewBoard(run, columns)
	if err != nil {
		return err
	}
	if err := board.Replay(); err != nil {
		return err
	}
	board.Judge()
	return nil
}

// judgePairs compares the samples of each round: the cell's and the baseline's, taken one after the other, form a
// pair. A pair with an invalid sample is left out. The verdict is from stats.PairedSamples, with its limits.
func judgePairs(run *result.Run, columns column.List) error {
	if err := summariseCells(run, columns); err != nil {
		return err
	}
	figures, err := Figures(run.Matrix, columns)
	if err != nil {
		return err
	}
	m := run.Matrix
	design := stats.SessionsDesign{
		Alpha: m.Alpha, Margin: m.Margin, Precision: m.Precision,
	}
	verdicts := make([]judgement, len(run.Cells))
	for f, figure := range figures {
		faults := faultsOf(run, figure)
		for i := range run.Cells {
			design.Rate, design.Amount, design.Comparisons = figure.rate, figure.amount, (len(run.Cells)-1)*family(figures, figure.Second)
			if i != m.Baseline && (f == 0 || !faults.none(i) && !faults.none(m.Baseline)) {
				verdicts[i].add(f, figure, pairsVerdict(run, i, figure, faults, design))
			}
		}
	}
	for i, v := range verdicts {
		if i != m.Baseline {
			cell := &run.Cells[i]
			cell.Verdict, cell.Verdicts, cell.Words = &v.decides, v.others, v.decides.String()
		}
	}
	return nil
}

func pairsVerdict(run *result.Run, cell int, figure Figure, faults Faults, design stats.SessionsDesign) stats.Verdict {
	seconds, baseline := paired(run, cell, figure)
	v := stats.PairedSamples(seconds, baseline, design)
	if faults.none(cell) {
		return stats.InvalidVerdict(faults.cells[cell].reason)
	}
	if spoilt := cmp.Or(faults.spoil(cell, "the cell"), faults.spoil(run.Matrix.Baseline, "the baseline")); spoilt != "" {
		return v.Unjudged(spoilt)
	}
	if n := len(run.Samples); v.MoreRounds > 0 {
		v.MoreSeconds = run.Samples[n-1].Elapsed / float64(max(1, v.Rounds)) * float64(v.MoreRounds)
	}
	return v
}

// summariseCells sets the summaries of the cells without verdicts.
func summariseCells(run *result.Run, columns column.List) error {
	m := run.Matrix
	time, err := Time(m, columns)
	if err != nil {
		return err
	}
	of := make([][]result.Sample, len(run.Cells))
	for _, s := range run.Samples {
		if s.Good() {
			s.Seconds = time(s)
			of[s.Cell] = append(of[s.Cell], s)
		}
	}
	for i := range of {
		run.Cells[i].Summary = result.Summarise(of[i])
	}
	return nil
}
