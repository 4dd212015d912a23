package contend

import (
	"cmp"
	"math"
	"slices"

	"gorun/internal/base/units"
	"gorun/internal/experiment"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/view"
)

// shown is how runs of `gorun contend` are shown.
var shown = experiment.View{
	Tables: tables, Answer: answer, Plan: planTable, Rows: rowColumns,
	Options:  []string{"op", "load", "nodes", "mem_node", "dist_bytes", "mode"},
	Drawings: []experiment.Drawing{{Anchor: "curves", Draw: drawCurves}},
}

// rowColumns are the columns in which rows can differ.
var rowColumns = []string{"op", "variant", "load", "mode", "cpus", "pattern", "cpu_list", "dist", "dist_by", "dist_bytes", "mem_node"}

// measuredRow is a row of `gorun contend`, as its good samples measured it, or all samples if none is good.
type measuredRow struct {
	Figures                    // of a sample: what is the same in all
	samples     result.Samples // in which operations were counted
	counted, of int            // windows of all samples
	grade       result.Grade   // the worst of the samples
}

// measuredRows returns the rows of the samples, by their numbers. Samples without a row are left out.
func measuredRows(samples result.Samples) (rows []measuredRow) {
	for _, of := range (view.Shape{Columns: columns, Rows: append([]string{"row"}, rowColumns...)}).RowsOf(&result.Run{Samples: samples}) {
		row := measuredRow{grade: of.Grade}
		row.samples = of.Samples.Where(func(s *result.Sample) bool {
			f, ok := result.Typed[Figures](s)
			return ok && f.CPUs > 0 && f.Operations > 0
		})
		for _, s := range of.Samples.All() {
			f, ok := result.Typed[Figures](s)
			if !ok || f.CPUs == 0 {
				continue
			}
			row.Figures = *f
			if f.Mode == ByTime {
				row.counted, row.of = row.counted+f.Windows, row.of+f.WindowsOf
			}
		}
		if row.CPUs > 0 {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b measuredRow) int { return cmp.Compare(a.Row, b.Row) })
	return rows
}

// spread returns the spread of a figure over the row's samples that have it.
func (r *measuredRow) spread(name string) table.Spread {
	spread, _ := view.SpreadOf(r.samples, columns.Get(name))
	return spread
}

// together returns the part of the time in which all threads of a row with a fixed count ran; false if they were not to run at the
// same time, or it is not known.
func (r *measuredRow) together() (share float64, known bool) {
	spread, known := view.SpreadOf(r.samples, columns.Get("together"))
	return spread.Median, known && r.Mode == ByCount && r.CPUs > 1
}

// tables are the tables of any experiment, with notes on how the figures were measured.
func tables(run *result.Run, shape view.Shape) []table.Table {
	tables := shape.Tables(run)
	rows := measuredRows(run.Samples)
	for _, note := range []string{countNote(rows), timeNote(rows)} {
		if note != "" && run.Matrix == nil {
			tables[0].Notes = append(tables[0].Notes, note)
		}
	}
	return tables
}

// countNote explains the averages of fixed counts; "" if none was contended.
func countNote(rows []measuredRow) string {
	var shares []float64
	for i := range rows {
		if share, known := rows[i].together(); known {
			shares = append(shares, share)
		}
	}
	if len(shares) == 0 {
		return ""
	}
	share := units.Percent(slices.Min(shares))
	if most := units.Percent(slices.Max(shares)); most != share {
		share += " to " + most
	}
	return "All threads of a row ran at the same time for " + share + " of its duration; the averages also hold the tail, in which" +
		" some had done their count and the others ran faster. --time counts only the windows in which all ran."
}

// timeNote says of what part of the time the figures are; "" if that is all of it, or nothing.
func timeNote(rows []measuredRow) string {
	counted, of := 0, 0
	for _, row := range rows {
		counted, of = counted+row.counted, of+row.of
	}
	if counted == 0 || counted == of {
		return ""
	}
	return units.Share(math.Floor(100*float64(counted)/float64(of))/100) + " of the time all threads ran; only that is used."
}

// planTable lists the rows that would run.
func planTable(plan *result.Plan) []table.Table {
	return []table.Table{table.Of(plan.ContendRows).
		With("operation", func(row result.ContendRow) table.Value { return table.Text(row.Op) }).
		With("CPUs", func(row result.ContendRow) table.Value { return table.Count(row.CPUs) }).
		With("which", func(row result.ContendRow) table.Value { return table.CPUs(row.CPUList) }).
		With("by node", func(row result.ContendRow) table.Value { return table.Text(row.Pattern) }).
		Table("", "")}
}
