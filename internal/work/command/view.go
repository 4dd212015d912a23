package command

import (
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/shell"
	"gorun/internal/experiment"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/apply"
	"gorun/internal/show/view"
)

// shown is how runs of `gorun exec` are shown.
var shown = experiment.View{
	Tables: tables, Plan: planTables,
	Answer: answer, Placed: userCommand, Recommends: true,
	Derived: failures, Found: "How often the commands failed",
}

// tables are those of any experiment, what was left on a CPU that a command had to itself, and the ways to have the best
// placement.
func tables(run *result.Run, shape view.Shape) []table.Table {
	tables := shape.Tables(run)
	if run.Samples.Len() > 0 && run.Matrix == nil {
		v, ok := result.Typed[Figures](run.Samples.At(0))
		if ok && v.Dedicated != nil {
			tables = append(tables, dedicatedTable(v.Dedicated))
		}
		if ok && v.Several != nil {
			tables = append(tables, copiesTable(v.Several))
		}
	}
	if steps, base, ok := steps(run); ok {
		return append(tables, scalingTable(steps, base))
	}
	return append(tables, apply.BestTables(run)...)
}

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

// answer recommends a placement, if placements of a command are compared, and says which commands failed more often than others.
func answer(run *result.Run) []view.Statement {
	if run.Matrix == nil || len(run.Cells) < 2 {
		return nil
	}
	if run.Matrix.Search != nil {
		return view.Verdicts(run)
	}
	if steps, base, ok := steps(run); ok && run.Matrix.Reached != nil {
		return found(run, steps)
	} else if ok {
		return append(scaling(steps, base), view.Verdicts(run)...)
	}
	best, found := apply.BestOf(run)
	if !found && len(run.Findings) == 0 {
		return nil
	}
	verdicts := append(view.Verdicts(run), view.Found(run.Findings)...)
	judged := func(c result.Cell) bool { return c.Verdict != nil && c.Verdict.Rounds > 0 }
	if !found || run.Matrix.Best != nil || !slices.ContainsFunc(run.Cells, judged) || !best.Proven() && apply.Placed(run.Cells[best.Cell]) {
		return verdicts
	}
	if best.Proven() && len(run.Cells) == 2 {
		verdicts = verdicts[1:]
	}
	return append([]view.Statement{{Text: best.String()}}, verdicts...)
}

// dedicatedTable has what was moved off a CPU that a command had to itself, or would be, and what was left there.
func dedicatedTable(d *result.Dedicated) table.Table {
	t := table.Table{Title: fmt.Sprintf("Threads of other programs on CPU %d", d.CPU)}
	t.Add("", "")
	add := func(name, text string) {
		t.AddRow(table.Text(name), table.Phrases{{Text: text}})
	}
	add("moved off", movedWords(d))
	for _, l := range d.Left {
		names := ""
		if len(l.Names) > 0 {
			names = ": " + strings.Join(l.Names, ", ")
		}
		add("left", leftOnWords(l)+names)
	}
	return t
}

// planTables show the ways to have a setting, and what would be moved off a CPU.
func planTables(plan *result.Plan) (tables []table.Table) {
	if plan.Lines != nil {
		tables = append(tables, apply.Table(plan.Lines))
	}
	if plan.Dedicated != nil {
		tables = append(tables, dedicatedTable(plan.Dedicated))
	}
	return tables
}
