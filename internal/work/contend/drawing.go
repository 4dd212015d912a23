package contend

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/chart"
	"gorun/internal/show/term"
)

// drawCurves draws the time of an operation and the throughput of all threads over the number of CPUs: a line per
// operation, with the range of its samples if there are several. It returns false if no operation ran on different
// numbers of CPUs.
func drawCurves(run *result.Run) (chart.Drawing, bool) {
	curves := curvesOf(measuredRows(run.Samples))
	if len(curves) == 0 {
		return chart.Drawing{}, false
	}
	f := chart.Drawing{Title: "Contention: time and throughput by CPUs", Table: table.Table{
		Name: "curves", Title: "Medians over the samples, and their ranges",
	}}
	f.Table.Add("operation", "CPUs", "samples", "an operation", "operations a second")
	perOp := chart.Panel{Title: "ns an operation, mean of the threads", Unit: "ns"}
	perSecond := chart.Panel{Title: "Mops/s, all threads together", Unit: "Mops/s"}
	var about []string
	for _, c := range curves {
		time, rate := chart.Curve{Name: c.name}, chart.Curve{Name: c.name}
		for _, row := range c.rows {
			ns, ops, cpus := row.spread("ns_per_op"), row.spread("ops_per_second"), float64(row.CPUs)
			time.Points = append(time.Points, chart.Point{X: cpus, Y: ns.Median, Least: ns.Least, Most: ns.Most})
			rate.Points = append(rate.Points,
				chart.Point{X: cpus, Y: ops.Median / 1e6, Least: ops.Least / 1e6, Most: ops.Most / 1e6})
			f.Table.AddRow(
				table.Text(c.name), table.Count(row.CPUs), table.Count(row.samples.Len()), ns, ops,
			)
		}
		perOp.Curves, perSecond.Curves = append(perOp.Curves, time), append(perSecond.Curves, rate)
		first, last := time.Points[0], time.Points[len(time.Points)-1]
		about = append(about, fmt.Sprintf("%s: %s ns on %s, %s ns on %s.", c.name, units.Digits(first.Y),
			units.Things(int(first.X), "CPU"), units.Digits(last.Y), units.Things(int(last.X), "CPU")))
	}
	f.Description = strings.Join(about, " ")
	drawn, height := chart.DrawCurves([]chart.Panel{perOp, perSecond}, chart.ByCPUs, nil)
	f.SVG = chart.Frame(f, chart.CPUModel(run.Host), height, drawn)
	return f, true
}

// curve has the rows of an operation under the same conditions, by the number of CPUs.
type curve struct {
	name string
	rows []*measuredRow
}

// curvesOf returns the curves with at least two numbers of CPUs. Rows without a good sample are left out.
func curvesOf(rows []measuredRow) (curves []curve) {
	type key struct {
		result.ContendRow // without the values that vary along the curve
		variant, mode     string
	}
	points := map[key][]*measuredRow{}
	var order []key
	for i := range rows {
		row := &rows[i]
		ns, ops := row.spread("ns_per_op"), row.spread("ops_per_second")
		if row.grade == result.Invalid || row.samples.Len() == 0 || !chart.Drawable(ns.Least, ns.Most, ops.Least, ops.Most) {
			continue
		}
		k := key{row.ContendRow, row.Variant, row.Mode}
		k.Row, k.CPUs, k.CPUList, k.Pattern = 0, 0, "", ""
		if points[k] == nil {
			order = append(order, k)
		}
		points[k] = append(points[k], row)
	}
	for _, k := range order {
		of := points[k]
		slices.SortStableFunc(of, func(a, b *measuredRow) int { return cmp.Compare(a.CPUs, b.CPUs) })
		if of[0].CPUs == of[len(of)-1].CPUs {
			continue
		}
		name := []string{term.Snip(k.Op, 24)}
		for _, what := range []func(row *measuredRow) string{
			func(row *measuredRow) string { return row.Variant },
			func(row *measuredRow) string { return distance(row.ContendRow) },
			func(row *measuredRow) string { return "memory on node " + strconv.Itoa(row.MemNode) },
		} {
			if slices.ContainsFunc(rows, func(row measuredRow) bool { return what(&row) != what(&rows[0]) }) {
				name = append(name, what(of[0]))
			}
		}
		curves = append(curves, curve{strings.Join(name, ", "), of})
	}
	return curves
}
