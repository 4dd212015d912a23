package command

import (
	"fmt"
	"strings"

	"gorun/internal/experiment"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/apply"
	"gorun/internal/show/view"
)

// shown is how runs of `gorun exec` are shown.
var shown = experiment.View{
	Tables: tables, Plan: planTables,
	Answer: answer, Placed: userCommand, Recommended: Recommended,
	Derived: failures, Found: "How often the commands failed",
}

// tables are those of any experiment, what was left on a CPU that a command had to itself, and the ways to have the best
// placement.
func tables(run *result.Run, shape view.Shape) []table.Table {
	tables := shape.Tables(run)
	if len(run.Samples) > 0 && run.Matrix == nil {
		v, ok := result.Typed[Figures](&run.Samples[0])
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
	return append(tables, Ways(run)...)
}

// Ways are the ways to have the best placement of a run, if one is proven better than the baseline.
func Ways(run *result.Run) []table.Table {
	if run.Matrix == nil {
		return nil
	}
	use, baseline, found := best(run)
	if !found || use == baseline {
		return nil
	}
	ways := apply.Table(run.Cells[use].Lines)
	ways.Title = "To have " + view.CellNames(run)[use]
	return []table.Table{ways}
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
