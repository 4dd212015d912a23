package render

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/hint"
	"gorun/internal/result"
)

// ContendSVG writes how operations get slower with CPUs as an SVG file that needs nothing else.
func ContendSVG(w io.Writer, run *result.Run) error {
	return drawSVG(w, run, hint.With(errors.New("cannot draw a curve: no operation ran on different numbers of CPUs"),
		"use --load cpu-increase"), ContentionCurves)
}

// ContentionCurves are the time of an operation and the throughput of all threads over the number of CPUs: a line an
// operation, with the range of its samples where there are several. False where no operation ran on different numbers
// of CPUs.
func ContentionCurves(run *result.Run) (Figure, bool) {
	if run.Experiment != "contend" {
		return Figure{}, false
	}
	run = clean(run)
	curves := contendCurves(contendedRows(run.Samples))
	if len(curves) == 0 {
		return Figure{}, false
	}
	f := Figure{Title: "Contention: time and throughput by CPUs", Table: FigureTable{
		Caption: "Medians over the samples, and their ranges",
		Head:    []string{"operation", "CPUs", "samples", "ns an operation", "least", "most", "Mops/s", "least", "most"},
	}}
	perOp := panel{title: "ns an operation, mean of the threads", unit: "ns"}
	perSecond := panel{title: "Mops/s, all threads together", unit: "Mops/s"}
	var about []string
	for _, c := range curves {
		time, rate := curve{name: c.name}, curve{name: c.name}
		for _, row := range c.rows {
			ns, _ := row.spread(nsPerOp)
			ops, _ := row.spread(opsPerSecond)
			cpus := float64(row.CPUs)
			time.points = append(time.points, point{cpus, ns.Median, ns.Min, ns.Max})
			rate.points = append(rate.points, point{cpus, ops.Median / 1e6, ops.Min / 1e6, ops.Max / 1e6})
			f.Table.Rows = append(f.Table.Rows, []string{
				c.name, strconv.Itoa(row.CPUs), strconv.Itoa(len(row.samples)), exact(ns.Median), exact(ns.Min),
				exact(ns.Max), exact(ops.Median / 1e6), exact(ops.Min / 1e6), exact(ops.Max / 1e6),
			})
		}
		perOp.curves, perSecond.curves = append(perOp.curves, time), append(perSecond.curves, rate)
		first, last := time.points[0], time.points[len(time.points)-1]
		about = append(about, fmt.Sprintf("%s: %s ns on %s, %s ns on %s.", c.name, digits(first.y),
			things(int(first.x), "CPU"), digits(last.y), things(int(last.x), "CPU")))
	}
	f.Description = strings.Join(about, " ")
	drawn, height := svgChart([]panel{perOp, perSecond}, byCPUs, nil)
	f.SVG = svgFigure(f, cpuModel(run.Host), height, drawn)
	return f, true
}

// contendCurve are the rows of an operation under the same conditions, by the number of CPUs.
type contendCurve struct {
	name string
	rows []*contended
}

// contendCurves are those that have at least two numbers of CPUs. Rows without a good sample are left out.
func contendCurves(rows []contended) (curves []contendCurve) {
	type key struct {
		result.ContendRow // without what makes a point
		variant, mode     string
	}
	points := map[key][]*contended{}
	var order []key
	for i := range rows {
		row := &rows[i]
		ns, ok := row.spread(nsPerOp)
		ops, _ := row.spread(opsPerSecond)
		if !ok || row.verdict == result.Invalid || !drawable(ns.Min, ns.Max, ops.Min, ops.Max) {
			continue
		}
		k := key{row.ContendRow, row.variant, row.mode}
		k.Row, k.CPUs, k.CPUList, k.Pattern = 0, 0, "", ""
		if points[k] == nil {
			order = append(order, k)
		}
		points[k] = append(points[k], row)
	}
	for _, k := range order {
		of := points[k]
		slices.SortStableFunc(of, func(a, b *contended) int { return cmp.Compare(a.CPUs, b.CPUs) })
		if of[0].CPUs == of[len(of)-1].CPUs {
			continue
		}
		name := []string{snip(k.Op, 24)}
		for _, axis := range contendAxes {
			if axis.title != "instruction" && differs(rows, axis.of) {
				name = append(name, axis.of(of[0]))
			}
		}
		curves = append(curves, contendCurve{strings.Join(name, ", "), of})
	}
	return curves
}
