package contend

import (
	"cmp"
	"fmt"
	"slices"

	"gorun/internal/experiment"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/table"
	"gorun/internal/units"
)

// shown is how runs of `gorun contend` are shown.
var shown = experiment.View{
	Tables: tables, Answer: answer, Plan: planTable, Rows: settings,
	Options:  []string{"op", "load", "nodes", "mem_node", "dist_bytes", "mode"},
	Drawings: []experiment.Drawing{{Anchor: "curves", Draw: drawCurves}},
}

// settings are the columns in which rows can differ.
var settings = []string{"op", "variant", "load", "mode", "cpus", "pattern", "cpu_list", "dist", "dist_by", "dist_bytes", "mem_node"}

// measuredRow is a row of `gorun contend` and its good samples, or all samples if none is good.
type measuredRow struct {
	result.ContendRow
	variant, mode string
	samples       []Figures
	verdict       result.Verdict // the worst of the samples
}

// measuredRows returns the rows of the samples, by their numbers. Samples without a row are left out.
func measuredRows(samples []result.Sample) (rows []measuredRow) {
	for _, of := range (view.Shape{Columns: columns, Rows: append([]string{"row"}, settings...)}).RowsOf(&result.Run{Samples: samples}) {
		row := measuredRow{verdict: of.Verdict}
		for i := range of.Samples {
			if f, ok := result.Typed[Figures](&of.Samples[i]); ok && f.CPUs > 0 {
				row.ContendRow, row.variant, row.mode = f.ContendRow, f.Variant, f.Mode
				row.samples = append(row.samples, *f)
			}
		}
		if len(row.samples) > 0 {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b measuredRow) int { return cmp.Compare(a.Row, b.Row) })
	return rows
}

// spread returns the distribution of a figure over the row's samples that have it; false if none has, or if no
// operation was counted.
func (c *measuredRow) spread(of func(c *Figures) *float64) (result.Distribution, bool) {
	var figures []float64
	for i := range c.samples {
		if x := of(&c.samples[i]); x != nil && c.samples[i].Operations > 0 {
			figures = append(figures, *x)
		}
	}
	return result.Distribute(figures), len(figures) > 0
}

func nsPerOp(c *Figures) *float64      { return &c.NsPerOp }
func opsPerSecond(c *Figures) *float64 { return &c.OpsPerSecond }
func overlap(c *Figures) *float64      { return c.Overlap }

// tables are those of any experiment, with notes on how the figures were measured.
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
		row := &rows[i]
		if d, ok := row.spread(overlap); ok && row.mode == ByCount && row.CPUs > 1 {
			shares = append(shares, d.Median)
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

// timeNote explains which windows count; "" if there are none.
func timeNote(rows []measuredRow) string {
	counted, of := 0, 0
	for _, row := range rows {
		if row.mode == ByTime {
			for i := range row.samples {
				counted, of = counted+row.samples[i].Windows, of+row.samples[i].WindowsOf
			}
		}
	}
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s count (%s): those in which all threads of the row ran.", counted,
		units.Things(of, "window"), units.Percent(float64(counted)/float64(of)))
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
