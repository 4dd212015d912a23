package numa

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/show/chart"
	"gorun/internal/show/term"
)

// writeSVG writes the rows' times as a self-contained SVG file: curves if there are several buffer sizes, otherwise the
// maps.
func writeSVG(w io.Writer, run *result.Run) error {
	return chart.Write(w, run, hint.With(errors.New("cannot draw the run: no row has a good sample"),
		"--format table says why"), drawLatency, drawMaps)
}

// figureRows returns the rows of a run that can be drawn.
func figureRows(run *result.Run) []measuredRow {
	return slices.DeleteFunc(withSamples(run), func(row measuredRow) bool {
		return row.BufferBytes == 0 || !chart.Drawable(slices.Concat(row.seconds, row.ns)...)
	})
}

// drawLatency draws the time of an access over the size of the buffer, with the CPU's caches: a line for rows that
// differ only in the buffer. It returns false if there is one size.
func drawLatency(run *result.Run) (chart.Drawing, bool) {
	if run.Experiment != "numa" {
		return chart.Drawing{}, false
	}
	run = term.Clean(run)
	all, sizes := latencySeries(figureRows(run))
	if len(all) == 0 {
		return chart.Drawing{}, false
	}
	f := chart.Drawing{Title: "Memory access by the size of the buffer"}
	p := chart.Panel{Title: "ns an access", Unit: "ns"}
	var about []string
	for _, s := range all {
		c := chart.Curve{Name: s.name}
		for _, bytes := range sizes {
			ns, ok := s.ns[bytes]
			if !ok {
				continue
			}
			c.Points = append(c.Points, chart.Point{X: float64(bytes), Y: ns.Median, Least: ns.Min, Most: ns.Max})
		}
		first, last := c.Points[0], c.Points[len(c.Points)-1]
		about = append(about,
			fmt.Sprintf("%s: %s ns in %s, %s ns in %s.", s.name, units.Digits(first.Y), units.Bytes(uint64(first.X)),
				units.Digits(last.Y), units.Bytes(uint64(last.X))))
		p.Curves = append(p.Curves, c)
	}
	var guides []chart.Guide
	for _, cache := range run.Caches {
		name := "L" + strconv.Itoa(cache.Level)
		guides = append(guides,
			chart.Guide{X: float64(cache.Bytes), Name: name, About: name + ": " + units.Bytes(cache.Bytes)})
		about = append(about, name+" holds "+units.Bytes(cache.Bytes)+".")
	}
	f.Description = strings.Join(about, " ")
	drawn, height := chart.DrawCurves([]chart.Panel{p}, chart.ByBytes, guides)
	f.SVG = chart.Frame(f, chart.CPUModel(run.Host), height, drawn)
	return f, true
}

// maxMapNodes limits the maps by node; Linux supports 1024 nodes, but we know of no machine with more than 32.
const maxMapNodes = 64

// drawMaps draws the mean times by the nodes of the memory and the process: a map for rows that differ only in these
// nodes. It returns false if no row has a good sample, or if there are several buffer sizes, which drawLatency draws.
func drawMaps(run *result.Run) (chart.Drawing, bool) {
	if run.Experiment != "numa" {
		return chart.Drawing{}, false
	}
	run = term.Clean(run)
	rows := figureRows(run)
	if several, _ := latencySeries(rows); len(rows) == 0 || len(several) > 0 {
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
