package numa

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/show/chart"
)

// figureRows returns the rows of a run that can be drawn.
func figureRows(run *result.Run) []measuredRow {
	return slices.DeleteFunc(measuredRows(run), func(row measuredRow) bool {
		return len(row.ns) == 0 || row.BufferBytes == 0 || !chart.Drawable(slices.Concat(row.seconds, row.ns)...)
	})
}

// maxMapNodes limits the maps by node; Linux supports 1024 nodes, but we know of no machine with more than 32.
const maxMapNodes = 64

// drawMaps draws the mean times by the nodes of the memory and the process: a map for rows that differ only in these
// nodes. It returns false if no row has a good sample.
func drawMaps(run *result.Run) (chart.Drawing, bool) {
	rows := figureRows(run)
	if len(rows) == 0 {
		return chart.Drawing{}, false
	}
	var nodes []int
	var means []float64
	for _, row := range rows {
		nodes = append(nodes, row.Mem, row.CPU)
		means = append(means, result.Distribute(slices.Clone(row.seconds)).Mean)
	}
	// Floating comes last, as in the table.
	slices.SortFunc(nodes, func(a, b int) int { return cmp.Compare(uint(a), uint(b)) })
	nodes = slices.Compact(nodes)
	if len(nodes) > maxMapNodes {
		return chart.Drawing{}, false
	}
	factor, unit := units.WholeUnit(means)
	f := chart.Drawing{Title: "Mean time by the nodes of memory and CPUs"}
	// Maps in the order of their first rows, with one scale.
	var order []measuredRow
	maps := map[result.NumaRow]*chart.Heat{}
	for i, row := range rows {
		of := group(row.NumaRow)
		if maps[of] == nil {
			order = append(order, measuredRow{NumaRow: of})
			maps[of] = nodeHeat(nodes, unit)
		}
		maps[of].At[slices.Index(nodes, row.Mem)][slices.Index(nodes, row.CPU)] = means[i] * factor
	}
	var same []string
	differ := differing(order)
	for n, axis := range rowAxes {
		if !differ[n] && axis.key != "Mem" && axis.key != "CPU" {
			same = append(same, axis.key+": "+axis.of(order[0]))
		}
	}
	f.Description = "A row of a map is the node that the memory is bound to, a column the one that the process is bound" +
		" to; F floats. PNID is the preferred node (-1: none), and NB NUMA balancing. " + strings.Join(same, ", ") + "."

	all := make([]*chart.Heat, len(order))
	for i, of := range order {
		var caption []string
		for n, axis := range rowAxes {
			if differ[n] {
				caption = append(caption, axis.key+": "+axis.of(of))
			}
		}
		all[i] = maps[of.NumaRow]
		all[i].Title = strings.Join(caption, " ")
	}
	drawn, height, ok := chart.DrawMaps(all...)
	if !ok {
		return chart.Drawing{}, false
	}
	note := "memory down, CPUs across, F floats"
	if model := chart.CPUModel(run.Host); model != "" {
		note += "; " + model
	}
	f.SVG = chart.Frame(f, note, height, drawn)
	return f, true
}

// nodeHeat returns an empty map by node.
func nodeHeat(nodes []int, unit string) *chart.Heat {
	h := &chart.Heat{Unit: unit}
	for _, node := range nodes {
		h.Rows = append(h.Rows, chart.Side{Name: orWord(node, "F")})
		h.At = append(h.At, slices.Repeat([]float64{math.NaN()}, len(nodes)))
	}
	h.Columns = h.Rows
	h.Label = func(i, j int) string { return "Mem " + h.Rows[i].Name + ", CPU " + h.Columns[j].Name }
	return h
}
