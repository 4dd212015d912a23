package matrix

import (
	"cmp"
	"fmt"

	"gorun/internal/column"
	"gorun/internal/result"
	"gorun/internal/stats"
)

// judges are how the cells of a design are judged. To add a design, name it in result and add its row.
var judges = map[string]func(*result.Run, column.List) error{
	"":           judgeBlocks,
	result.Pairs: judgePairs,
	result.Rows:  sumUp,
}

// Judge puts the verdicts and summaries on the cells of a run, by its design: the same samples have the same, whether
// they were taken just now or read from a journal. A run without cells to compare is left as it is. The columns are those
// of the run's experiment.
func Judge(run *result.Run, columns column.List) error {
	if run.Matrix == nil {
		return nil
	}
	if _, err := Judged(run.Matrix, columns); err != nil {
		return err
	}
	return judges[run.Matrix.Order.Design](run, columns)
}

// Judged returns what Judge compares of a sample of such a run, or an error that says why this gorun cannot judge it. The
// columns are those of the run's experiment.
func Judged(m *result.Matrix, columns column.List) (func(result.Sample) float64, error) {
	if _, known := judges[m.Order.Design]; !known {
		return nil, fmt.Errorf("the design %q is none that this gorun knows", m.Order.Design)
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

// judgePairs compares the samples of each round: the cell's and the baseline's, taken one after the other, are a pair.
// A pair of which a sample is invalid is left out. The
// verdict is that of stats.Pairs, with its limits.
func judgePairs(run *result.Run, columns column.List) error {
	if err := sumUp(run, columns); err != nil {
		return err
	}
	time, err := Time(run.Matrix, columns)
	if err != nil {
		return err
	}
	m := run.Matrix
	design := stats.SessionsDesign{
		Comparisons: len(run.Cells) - 1, Alpha: m.Alpha, Margin: m.Margin, Precision: m.Precision,
	}
	faults := faultsOf(run)
	for i := range run.Cells {
		if i == m.Baseline {
			continue
		}
		seconds, baseline := paired(run, i, time)
		verdict := stats.Pairs(seconds, baseline, design)
		if faults.none(i) {
			verdict = stats.InvalidVerdict(faults.cells[i].reason)
		} else if spoilt := cmp.Or(faults.spoil(i, "the cell"), faults.spoil(m.Baseline, "the baseline")); spoilt != "" {
			verdict = verdict.Unjudged(spoilt)
		}
		if n := len(run.Samples); verdict.MoreRounds > 0 {
			verdict.MoreSeconds = run.Samples[n-1].Elapsed / float64(max(1, verdict.Rounds)) * float64(verdict.MoreRounds)
		}
		run.Cells[i].Verdict, run.Cells[i].Words = &verdict, verdict.String()
	}
	return nil
}

// sumUp puts the summaries on the cells, and no verdicts.
func sumUp(run *result.Run, columns column.List) error {
	m := run.Matrix
	time, err := Time(m, columns)
	if err != nil {
		return err
	}
	if m.Baseline < 0 || m.Baseline >= len(run.Cells) {
		return fmt.Errorf("the baseline is cell %d of %d", m.Baseline, len(run.Cells))
	}
	for _, s := range run.Samples {
		if s.Slot == nil || s.Cell < 0 || s.Cell >= len(run.Cells) {
			return fmt.Errorf("sample %d is of no cell", s.Index)
		}
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
