package command

import (
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/shell"
	"gorun/internal/record/result"
	"gorun/internal/show/view"
	"gorun/internal/stats"
)

// userCommand returns the user's command that the cells of a run place.
func userCommand(run *result.Run) string {
	if len(run.Cells) == 0 || run.Cells[0].Lines == nil {
		return ""
	}
	cell := run.Cells[0]
	i := slices.Index(cell.Command, "--")
	if i < 0 {
		return ""
	}
	return shell.Join(cell.Command[i+1:])
}

// best returns the setting with a proven improvement over the baseline that has the best typical ratio, unless
// another is proven better, and the baseline. found is false if the cells are not settings of one command.
func best(run *result.Run) (best, baseline int, found bool) {
	ranking := run.Matrix.Ranking
	baseline = run.Matrix.Baseline
	if len(ranking) == 0 || run.Cells[baseline].Lines == nil {
		return 0, 0, false
	}
	if slices.ContainsFunc(run.Cells, func(c result.Cell) bool { return c.Flags["command"] != run.Cells[baseline].Flags["command"] }) ||
		!slices.ContainsFunc(run.Cells, placed) {
		return 0, 0, false // commands are compared
	}
	if _, _, scales := steps(run); scales {
		return 0, 0, false
	}
	best = ranking[0]
	if cell := &run.Cells[best]; cell.Verdict == nil || cell.Verdict.Kind != stats.Faster || cell.Lines == nil {
		best = baseline
	}
	return best, baseline, true
}

// placed reports whether a cell runs its command in another way than it runs by itself.
func placed(c result.Cell) bool {
	l := c.Lines
	return l != nil && len(l.Copies) > 0 || l != nil && l.Taskset+l.Numactl+l.Kubernetes+strings.Join(l.Systemd, "") != "" || c.Flags["preferred-node"] != ""
}

// answer recommends a placement, if placements of a command are compared, and says which commands failed more often than others.
func answer(run *result.Run) []view.Statement {
	if run.Matrix == nil || len(run.Cells) < 2 {
		return nil
	}
	if steps, base, ok := steps(run); ok {
		return append(scaling(steps, base), view.Verdicts(run)...)
	}
	use, baseline, found := best(run)
	if !found && len(run.Findings) == 0 {
		return nil
	}
	names := view.CellNames(run)
	verdicts := append(view.Verdicts(run), view.Found(run.Findings)...)
	judged := func(c result.Cell) bool { return c.Verdict != nil && c.Verdict.Rounds > 0 }
	switch {
	case !found, !slices.ContainsFunc(run.Cells, judged), use == baseline && placed(run.Cells[baseline]):
		return verdicts
	case use == baseline:
		return append([]view.Statement{{Text: nothingBetter(run)}}, verdicts...)
	}
	if len(run.Cells) == 2 {
		verdicts = verdicts[1:]
	}
	return append([]view.Statement{{Text: better(run, names, use, baseline)}}, verdicts...)
}

func nothingBetter(run *result.Run) string {
	what, better := "placement", "faster"
	if run.OfMatrix() {
		what = "setting"
	}
	if run.Matrix.Compared == result.MetricColumn {
		better = "better"
	}
	return fmt.Sprintf("No %s is certain to be %s", what, better)
}

func better(run *result.Run, names []string, use, baseline int) string {
	return fmt.Sprintf("Use %s, which %s", names[use], view.ClaimOf(run, use).Comparative(names[baseline]))
}

// Recommended implements experiment.View.
func Recommended(run *result.Run) (use *result.Cell, words string) {
	best, baseline, found := best(run)
	names := view.CellNames(run)
	switch {
	case !found:
		return nil, "The cells are not settings of one command, so that there is nothing to apply"
	case best == baseline:
		return nil, nothingBetter(run)
	}
	return &run.Cells[best], better(run, names, best, baseline)
}
