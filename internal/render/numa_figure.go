package render

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/hint"
	"gorun/internal/result"
)

// NumaSVG writes what the rows took as an SVG file that needs nothing else: curves where there are several buffers, and
// else the maps.
func NumaSVG(w io.Writer, run *result.Run) error {
	return drawSVG(w, run, hint.With(errors.New("cannot draw the run: no row has a good sample"),
		"--format table says why"), NUMALatency, NUMAMaps)
}

// figureRows are the rows of a run that have something to draw.
func figureRows(run *result.Run) []probed {
	return slices.DeleteFunc(measured(probedRows(run)), func(row probed) bool {
		ns := row.nsPerAccess()
		return row.BufferBytes == 0 || !drawable(slices.Max(row.seconds), slices.Min(row.seconds), ns.Min, ns.Max)
	})
}

// NUMALatency is the time of an access over the size of the buffer, with the caches that a CPU reaches: a line for rows
// that are the same but for the buffer. False where there is one size.
func NUMALatency(run *result.Run) (Figure, bool) {
	if run.Experiment != "numa" {
		return Figure{}, false
	}
	run = clean(run)
	all, sizes := latencySeries(figureRows(run))
	if len(all) == 0 {
		return Figure{}, false
	}
	f := Figure{Title: "Memory access by the size of the buffer", Table: FigureTable{
		Caption: "ns an access: medians over the samples, and their ranges",
		Head:    []string{"rows", "buffer", "fits in", "median", "least", "most"},
	}}
	p := panel{title: "ns an access", unit: "ns"}
	var about []string
	for _, s := range all {
		c := curve{name: s.name}
		for _, bytes := range sizes {
			ns, ok := s.ns[bytes]
			if !ok {
				continue
			}
			c.points = append(c.points, point{float64(bytes), ns.Median, ns.Min, ns.Max})
			f.Table.Rows = append(f.Table.Rows, []string{
				s.name, size(bytes), fits(bytes, run.Caches), exact(ns.Median), exact(ns.Min), exact(ns.Max),
			})
		}
		first, last := c.points[0], c.points[len(c.points)-1]
		about = append(about, fmt.Sprintf("%s: %s ns in %s, %s ns in %s.", s.name, digits(first.y), size(uint64(first.x)),
			digits(last.y), size(uint64(last.x))))
		p.curves = append(p.curves, c)
	}
	var guides []guide
	for _, cache := range run.Caches {
		name := "L" + strconv.Itoa(cache.Level)
		guides = append(guides, guide{float64(cache.Bytes), name, name + ": " + size(cache.Bytes)})
		about = append(about, name+" holds "+size(cache.Bytes)+".")
	}
	if len(guides) == 0 {
		f.Table.Head = slices.Delete(f.Table.Head, 2, 3)
		for i, row := range f.Table.Rows {
			f.Table.Rows[i] = slices.Delete(row, 2, 3)
		}
	}
	f.Description = strings.Join(about, " ")
	drawn, height := svgChart([]panel{p}, byBytes, guides)
	f.SVG = svgFigure(f, cpuModel(run.Host), height, drawn)
	return f, true
}

// maxMapNodes bounds the maps by node; Linux supports 1024 nodes, and machines of more than 32 are not known to us.
const maxMapNodes = 64

// NUMAMaps are the mean times by the node of the memory and of the process: a map for rows that are the same but for
// these nodes. False where no row has a good sample, and where there are several buffers, of which NUMALatency tells.
func NUMAMaps(run *result.Run) (Figure, bool) {
	if run.Experiment != "numa" {
		return Figure{}, false
	}
	run = clean(run)
	rows := figureRows(run)
	if several, _ := latencySeries(rows); len(rows) == 0 || len(several) > 0 {
		return Figure{}, false
	}
	var nodes []int
	var means []float64
	for _, row := range rows {
		nodes = append(nodes, row.Mem, row.CPU)
		means = append(means, result.Distribute(slices.Clone(row.seconds)).Mean)
	}
	// The one that floats comes last, as in the table.
	slices.SortFunc(nodes, func(a, b int) int { return cmp.Compare(uint(a), uint(b)) })
	nodes = slices.Compact(nodes)
	if len(nodes) > maxMapNodes || !drawable(means...) {
		return Figure{}, false
	}
	factor, unit := wholeUnit(means)
	f := Figure{Title: "Mean time by the nodes of memory and CPUs", Table: FigureTable{
		Caption: "Times of a sample in seconds",
		Head:    []string{"row", "PNID", "NB", "Mem", "CPU", "samples", "mean", "least", "most"},
	}}
	for i, row := range rows {
		seconds := result.Distribute(slices.Clone(row.seconds))
		cells := []string{row.name()}
		for _, axis := range numaAxes[:numaExtra] {
			cells = append(cells, axis.of(&row.NumaRow))
		}
		f.Table.Rows = append(f.Table.Rows, append(cells, strconv.Itoa(len(row.seconds)), exact(means[i]),
			exact(seconds.Min), exact(seconds.Max)))
	}

	// Maps in the order of their first rows, with one scale.
	var order []result.NumaRow
	maps := map[result.NumaRow]*heat{}
	all := heat{}
	for i, row := range rows {
		group := row.NumaRow
		group.Row, group.Mem, group.CPU, group.PreferredBy, group.Unsupported = 0, 0, 0, "", ""
		if maps[group] == nil {
			order = append(order, group)
			maps[group] = nodeHeat(nodes, unit)
		}
		maps[group].at[slices.Index(nodes, row.Mem)][slices.Index(nodes, row.CPU)] = means[i] * factor
		all.at = append(all.at, []float64{means[i] * factor})
	}
	scale, _ := all.scale()
	var same []string
	differ := numaDiffers(order)
	for n, axis := range numaAxes {
		if !differ[n] && axis.key != "Mem" && axis.key != "CPU" {
			same = append(same, axis.key+": "+axis.of(&order[0]))
		}
	}
	f.Description = "A row of a map is the node that the memory is bound to, a column the one that the process is bound" +
		" to; F floats. PNID is the preferred node (-1: none), and NB NUMA balancing. " + strings.Join(same, ", ") + "."

	const captionHeight, gap = 18, 16
	labels := maps[order[0]].labels()
	width := min(labels+mapCell*len(nodes), svgInside)
	across := max(1, (svgInside+gap)/(width+gap))
	var b strings.Builder
	height := 0
	for i, group := range order {
		x, y := svgMargin+i%across*(width+gap), i/across*(captionHeight+width+gap)
		var caption []string
		for n, axis := range numaAxes {
			if differ[n] {
				caption = append(caption, axis.key+": "+axis.of(&group))
			}
		}
		drawn, tall := svgMap(maps[group], scale, float64(width))
		fmt.Fprintf(&b, `<g transform="translate(%d %d)"><text x="%d" y="12" font-weight="600">%s</text>`+
			`<g transform="translate(0 %d)">`+"\n%s</g></g>\n", x, y, labels,
			svgText(strings.Join(caption, " "), float64(width-labels), 6.2), captionHeight, drawn)
		height = y + captionHeight + tall + gap
	}
	b.WriteString(svgScale(scale.legend(), unit, svgMargin+labels, height))
	note := "memory down, CPUs across, F floats"
	if model := cpuModel(run.Host); model != "" {
		note += "; " + model
	}
	f.SVG = svgFigure(f, note, height+34, b.String())
	return f, true
}

// nodeHeat is a map by node that knows nothing yet.
func nodeHeat(nodes []int, unit string) *heat {
	h := &heat{unit: unit}
	for i, node := range nodes {
		h.seat = append(h.seat, seat{cpu: i})
		h.names = append(h.names, orWord(node, "F"))
		h.at = append(h.at, slices.Repeat([]float64{math.NaN()}, len(nodes)))
	}
	h.tell = func(i, j int) string { return "Mem " + h.names[i] + ", CPU " + h.names[j] }
	return h
}
