package pair

import (
	"fmt"

	"gorun/internal/base/catalog"
	"gorun/internal/experiment"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/view"
)

// shown is how runs of `gorun pair` are shown.
var shown = experiment.View{
	Tables: tables, Plan: planTable,
	Options: []string{"work", "loops", "array_bytes"},
}

// tables are the tables of any experiment, with what the processes do, and, of a single pair, the two processes and their intervals.
func tables(run *result.Run, shape view.Shape) []table.Table {
	tables := shape.Tables(run)
	if len(run.Cells) > 0 || len(tables) == 0 {
		for i := range tables {
			if run.Matrix != nil && run.Matrix.Title == compared && tables[i].Title == compared && run.Samples.Len() > 0 {
				tables[i].Title += does(run.Samples.At(0))
			}
		}
		return tables
	}
	last := view.Summarised(run.Samples).Last()
	figures, ok := result.Typed[Figures](last)
	if !ok || len(figures.Processes) != 2 {
		return tables
	}
	processes := processesTable(figures.Processes)
	if processes.Title = "The two processes (" + figures.Relation + ")"; run.Samples.Len() > 1 {
		processes.Title += fmt.Sprintf(" in sample %d", last.Index)
	}
	processes.Title += does(last)
	return append(tables, processes, intervalsTable(figures.Intervals))
}

// does says what each process of a sample does.
func does(s *result.Sample) string {
	f, ok := result.Typed[Figures](s)
	if !ok {
		return ""
	}
	work, err := catalog.Find(Works, "work", f.Work)
	if err != nil { // of another gorun
		return ""
	}
	return "; each " + work.Usage
}

// processesTable has the figures of `time -p` of each process, and how much of a CPU it had.
func processesTable(processes []Process) table.Table {
	return table.Of(processes).
		With("CPU", func(p Process) table.Value { return table.Count(p.CPU) }).
		With("pid", func(p Process) table.Value {
			if p.PID == 0 {
				return nil
			}
			return table.Count(p.PID)
		}).
		With("real", func(p Process) table.Value { return table.Seconds(p.RealSeconds) }).
		With("user", func(p Process) table.Value { return table.Seconds(p.UserSeconds) }).
		With("sys", func(p Process) table.Value { return table.Seconds(p.SystemSeconds) }).
		With("of a CPU", func(p Process) table.Value {
			return table.Number{X: (p.UserSeconds + p.SystemSeconds) / p.RealSeconds, Unit: column.Share}
		}).
		With("loops a second", func(p Process) table.Value { return table.Number{X: p.CallsPerSecond, Unit: column.PerSecond} }).
		Table("", "")
}

// intervalsTable has each process's share of its CPU in each interval.
func intervalsTable(intervals []Interval) table.Table {
	share := func(process int) func(i Interval) table.Value {
		return func(i Interval) table.Value { return table.Number{X: i.CPUShares[process], Unit: column.Share} }
	}
	return table.Of(intervals).
		With("end", func(i Interval) table.Value { return table.Seconds(i.EndSeconds) }).
		With("length", func(i Interval) table.Value { return table.Seconds(i.Seconds) }).
		With("first process", share(0)).
		With("second process", share(1)).
		Table("", "Share of a CPU by interval")
}

// planTable lists the pairs, and the relations without a pair.
func planTable(plan *result.Plan) []table.Table {
	known := func(row result.PairRow, v table.Value) table.Value {
		if row.Unavailable != "" {
			return nil
		}
		return v
	}
	return []table.Table{table.Of(plan.PairRows).
		With("relation", func(row result.PairRow) table.Value { return table.Text(row.Relation) }).
		With("CPUs", func(row result.PairRow) table.Value {
			return known(row, table.Text(fmt.Sprintf("%d,%d", row.CPUA, row.CPUB)))
		}).
		With("loops", func(row result.PairRow) table.Value { return known(row, table.Count(row.Loops)) }).
		With("", func(row result.PairRow) table.Value { return table.Text(row.Unavailable) }).
		Table("", "")}
}
