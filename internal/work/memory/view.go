package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/experiment"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/chart"
	"gorun/internal/show/view"
)

// shown is how runs of `gorun memory` are shown.
var shown = experiment.View{
	Rows: rowColumns,
	Tables: func(run *result.Run, shape view.Shape) []table.Table {
		all, sizes := latencySeries(run)
		if run.Matrix == nil && len(all) > 0 && !shape.Verbose {
			return []table.Table{sizesTable(all, sizes, run.Caches)}
		}
		if run.Matrix == nil { // nothing is judged, and people think of bandwidth
			if shape.Compared = bandwidth; slices.ContainsFunc(rowsOf(run), func(r row) bool { return r.latency.Median > 0 }) {
				shape.Compared = latency
			}
		}
		tables := shape.Tables(run)
		if len(all) > 0 {
			tables = append(tables, sizesTable(all, sizes, run.Caches))
		}
		return tables
	},
	Options:  []string{"pages", "kernel"},
	Answer:   answer,
	Drawings: []experiment.Drawing{{Anchor: "loaded-latency", Draw: curve}, {Anchor: "latency", Draw: drawSizes}},
}

// rowColumns are the columns in which rows differ.
var rowColumns = []string{"op", "stores", "on", "mem", "pause", "access", "size_bytes"}

// row is what one row measured: medians over its good samples.
type row struct {
	Figures
	bandwidth, latency table.Spread // of the samples; without a figure, its median is 0
}

// rowsOf returns the rows that have samples.
func rowsOf(run *result.Run) (rows []row) {
	for _, of := range (view.Shape{Columns: columns, Rows: rowColumns}).RowsOf(run) {
		if of.Samples.Len() == 0 || of.Grade == result.Invalid {
			continue
		}
		f, ok := result.Typed[Figures](of.Samples.At(0))
		if !ok {
			continue
		}
		r := row{Figures: *f}
		r.bandwidth, _ = view.SpreadOf(of.Samples, bandwidth)
		r.latency, _ = view.SpreadOf(of.Samples, latency)
		rows = append(rows, r)
	}
	return rows
}

func byBandwidth(a, b row) int { return cmp.Compare(a.bandwidth.Median, b.bandwidth.Median) }

// rate returns a bandwidth for a reader.
func rate(bytes float64) string { return table.Format(column.BytesPerSecond, bytes) }

// answer says what the fastest row reached, or what load does to the latency. Cells that are judged have verdicts.
func answer(run *result.Run) []view.Statement {
	rows := rowsOf(run)
	if run.Matrix != nil || len(rows) == 0 {
		return nil
	}
	if all, sizes := latencySeries(run); len(all) > 0 {
		return bySize(run, all, sizes)
	}
	if rows[0].latency.Median > 0 {
		return loaded(rows)
	}
	most := slices.MaxFunc(rows, byBandwidth)
	text := fmt.Sprintf("%s is the highest bandwidth: %s", rate(most.bandwidth.Median), most.words())
	for _, r := range rows {
		if r.Threads == 1 && most.Threads > 1 && r.Op == most.Op && r.Stores == most.Stores {
			text += fmt.Sprintf("; one CPU alone reaches %s", rate(r.bandwidth.Median))
			break
		}
	}
	return []view.Statement{{Text: text + "."}}
}

// loaded has the latency of the row with the least load and that under the most, in the unit of the table. A few samples are no comparison.
func loaded(rows []row) []view.Statement {
	least, most := slices.MinFunc(rows, byBandwidth), slices.MaxFunc(rows, byBandwidth)
	var latencies []float64
	for _, r := range rows {
		latencies = append(latencies, r.latency.Median/1e9)
	}
	show := units.CommonUnit(latencies)
	time := func(r row) string { return show(r.latency.Median / 1e9) }
	text := "A read takes " + time(least)
	if least.bandwidth.Median == 0 {
		text += " without load"
	}
	if most.bandwidth.Median > least.bandwidth.Median {
		read := "read"
		if most.Threads == 1 {
			read = "reads"
		}
		text += fmt.Sprintf(", and %s while %s %s %s", time(most), units.Things(most.Threads, "CPU"), read, rate(most.bandwidth.Median))
	}
	return []view.Statement{{Text: text + "."}}
}

// words describe a row: "triad with nontemporal stores on all CPUs".
func (r row) words() string {
	text := r.Op
	if r.Stores != "" {
		text += " with " + r.Stores + " stores"
	}
	if text += " on " + r.On; r.Mem != r.On && r.Threads > 1 && r.Mem != localMemory {
		text += ", in the memory of " + r.Mem
	}
	return text
}

// curve draws the latency of a read over the bandwidth that others take meanwhile, a line for each node of the memory.
func curve(run *result.Run) (d chart.Drawing, drawn bool) {
	d = chart.Drawing{Title: "Latency under load", Table: table.Table{Name: "loaded", Title: "Medians over the samples, and their ranges"}}
	d.Table.Add("memory", "pause in turns", "bandwidth", "latency")
	panel := chart.Panel{Title: "ns a read", Unit: "ns"}
	for _, r := range rowsOf(run) {
		x, ns := r.bandwidth.Median/1e9, r.latency
		if ns.Median <= 0 || r.Size != nil || !chart.Drawable(x, ns.Least, ns.Most) {
			continue
		}
		i := slices.IndexFunc(panel.Curves, func(c chart.Curve) bool { return c.Name == "memory on "+r.Mem })
		if i < 0 {
			i, panel.Curves = len(panel.Curves), append(panel.Curves, chart.Curve{Name: "memory on " + r.Mem})
		}
		panel.Curves[i].Points = append(panel.Curves[i].Points, chart.Point{X: x, Y: ns.Median, Least: ns.Least, Most: ns.Most})
		pause := table.Text("no load")
		if r.Pause != nil {
			pause = table.Text(units.Count(float64(*r.Pause)))
		}
		d.Table.AddRow(table.Text(r.Mem), pause, r.bandwidth, ns)
	}
	for i := range panel.Curves {
		points := panel.Curves[i].Points
		slices.SortFunc(points, func(a, b chart.Point) int { return cmp.Compare(a.X, b.X) })
		first, last := points[0], points[len(points)-1]
		d.Description += fmt.Sprintf("%s: %s ns at %s GB/s, %s ns at %s GB/s. ", panel.Curves[i].Name, units.Digits(first.Y), units.Digits(first.X),
			units.Digits(last.Y), units.Digits(last.X))
	}
	if len(panel.Curves) == 0 {
		return d, false
	}
	d.Description = strings.TrimSpace(d.Description)
	svg, height := chart.DrawCurves([]chart.Panel{panel}, chart.ByRate, nil)
	d.SVG = chart.Frame(d, chart.CPUModel(run.Host), height, svg)
	return d, true
}
