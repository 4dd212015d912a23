package apply

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/view"
	"gorun/internal/stats"
)

// Best is the best setting of a run that compares settings of one program.
type Best struct {
	run *result.Run
	// Cell is the index of the cell with a proven improvement over the baseline that has the best typical ratio, unless another is
	// proven better; it is that of the baseline if no improvement is proven. If the best cell was looked for and found, it is that.
	Cell int
}

// BestOf returns the best setting of a run; false if its cells are not settings of one program.
func BestOf(run *result.Run) (best Best, found bool) {
	if run.Matrix == nil || len(run.Matrix.Ranking) == 0 || OfCopies(run) {
		return best, false
	}
	baseline := run.Cells[run.Matrix.Baseline]
	if baseline.Lines == nil || !slices.ContainsFunc(run.Cells, Placed) ||
		slices.ContainsFunc(run.Cells, func(c result.Cell) bool { return c.Flags["command"] != baseline.Flags["command"] }) {
		return best, false
	}
	if found := run.Matrix.Best; found != nil && found.Winner != nil {
		return Best{run, *found.Winner}, true
	}
	best = Best{run, run.Matrix.Ranking[0]}
	if cell := &run.Cells[best.Cell]; cell.Verdict == nil || cell.Verdict.Kind != stats.Faster || cell.Lines == nil {
		best.Cell = run.Matrix.Baseline
	}
	return best, true
}

// Placed reports whether a cell runs its command in another way than it runs by itself.
func Placed(c result.Cell) bool {
	l := c.Lines
	return l != nil && len(l.Copies) > 0 || l != nil && l.Taskset+l.Numactl+l.Kubernetes+strings.Join(l.Systemd, "") != "" || c.Flags["preferred-node"] != ""
}

// OfCopies reports whether a run compares numbers of copies, and nothing else.
func OfCopies(run *result.Run) bool {
	others := func(c result.Cell) map[string]string {
		flags := maps.Clone(c.Flags)
		delete(flags, "copies")
		return flags
	}
	return run.Matrix != nil && len(run.Cells) > 1 && !slices.ContainsFunc(run.Cells, func(c result.Cell) bool {
		_, err := strconv.Atoi(c.Flags["copies"])
		return err != nil || !maps.Equal(others(c), others(run.Cells[0]))
	})
}

// Proven reports whether the setting is proven to be better than the baseline.
func (b Best) Proven() bool { return b.Cell != b.run.Matrix.Baseline }

// String recommends the setting, or says that none is proven to be better.
func (b Best) String() string {
	names := view.CellNames(b.run)
	switch {
	case b.run.Matrix.Best != nil && b.run.Matrix.Best.Winner != nil:
		return "Use " + names[b.Cell]
	case b.Proven():
		return fmt.Sprintf("Use %s, which %s", names[b.Cell], view.ClaimOf(b.run, b.Cell).Comparative(names[b.run.Matrix.Baseline]))
	}
	what, better := "placement", "faster"
	if b.run.OfMatrix() {
		what = "setting"
	}
	if b.run.Matrix.Compared == result.MetricColumn {
		better = "better"
	}
	return fmt.Sprintf("No %s is certain to be %s", what, better)
}

// BestTables has the ways to have the best setting of a run, if it is proven to be better.
func BestTables(run *result.Run) []table.Table {
	best, found := BestOf(run)
	if !found || !best.Proven() {
		return nil
	}
	ways := Table(run.Cells[best.Cell].Lines)
	ways.Title = "To have " + view.CellNames(run)[best.Cell]
	return []table.Table{ways}
}

// Recommended returns the cell with the best setting of a run, and recommends it in words; nil if none is proven to be better.
func Recommended(run *result.Run) (use *result.Cell, words string) {
	best, found := BestOf(run)
	switch {
	case !found:
		return nil, "The cells are not settings of one command, so that there is nothing to apply"
	case !best.Proven():
		return nil, best.String()
	}
	return &run.Cells[best.Cell], best.String()
}
