package live

import (
	"fmt"

	"gorun/internal/base/units"
	"gorun/internal/experiment"
	"gorun/internal/place/named"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/apply"
	"gorun/internal/show/view"
)

// shown is how runs of `gorun live` are shown.
var shown = experiment.View{
	Tables: func(run *result.Run, shape view.Shape) []table.Table {
		return append(shape.Tables(run), apply.BestTables(run)...)
	},
	Plan: planTables, Own: true, Recommends: true,
	Placed: func(*result.Run) string { return "" }, // it runs already
}

// planTables list the threads of the program, those that are alike in one row.
func planTables(plan *result.Plan) []table.Table {
	p := plan.Program
	if p == nil {
		return nil
	}
	how := "each thread by its mask"
	if p.By == "cpuset" {
		how = "by one write into its cpuset"
	}
	t := table.Table{
		Title: fmt.Sprintf("%s: %s of %s, switched %s", p.Who, units.Things(len(p.Threads), "thread"), units.Things(p.Processes, "process"), how),
	}
	t.Add("process", "thread", "name", "CPUs", "nice", "policy")
	for _, thread := range p.Threads {
		t.Rows = append(t.Rows, table.Row{Values: []table.Value{
			table.Text(fmt.Sprint(thread.PID)), table.Text(fmt.Sprint(thread.TID)), table.Text(thread.Name), table.CPUs(thread.CPUs),
			table.Text(fmt.Sprint(thread.Nice)), table.Text(thread.Sched),
		}})
	}
	return []table.Table{t, changes(plan)}
}

// changes has how many threads each setting of a plan would change.
func changes(plan *result.Plan) table.Table {
	t := table.Table{Title: "What each setting would change"}
	t.Add("setting", "CPUs", "threads on other CPUs now")
	for _, cell := range plan.Cells {
		cpus, given := cell.CPUs["cpus"]
		if cell.Flags["placement"] == named.AsIs || !given {
			t.Rows = append(t.Rows, table.Row{Values: []table.Value{table.Text(cell.Name), table.Text("as they are"), table.Count(0)}})
			continue
		}
		others := 0
		for _, thread := range plan.Program.Threads {
			if thread.CPUs != cpus.List {
				others++
			}
		}
		t.Rows = append(t.Rows, table.Row{Values: []table.Value{table.Text(cell.Name), table.CPUs(cpus.List), table.Count(others)}})
	}
	return t
}
