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

	"github.com/jedib0t/go-pretty/v6/text"

	"gorun/internal/hint"
	"gorun/internal/result"
)

// series are rows that differ in nothing but the size of their buffers.
type series struct {
	name string
	ns   map[uint64]float64 // an access, by bytes
}

// latencySeries are the series of rows with several buffers, and the buffers' sizes; none where all are the same.
func latencySeries(rows []probed) (all []series, sizes []uint64) {
	differ := numaDiffers(plainRows(rows))
	at := map[string]int{}
	for i := range rows {
		row := &rows[i]
		var words []string
		for n, axis := range numaAxes {
			if differ[n] && axis.key != bufferAxis {
				words = append(words, axis.key+" "+axis.of(&row.NumaRow))
			}
		}
		name := strings.Join(words, " ")
		if _, known := at[name]; !known {
			at[name] = len(all)
			all = append(all, series{cmp.Or(name, "ns/access"), map[uint64]float64{}})
		}
		all[at[name]].ns[row.BufferBytes] = row.nsPerAccess()
		sizes = append(sizes, row.BufferBytes)
	}
	slices.Sort(sizes)
	if sizes = slices.Compact(sizes); len(sizes) < 2 {
		return nil, nil
	}
	return all, sizes
}

// latencyBlock is what an access takes by the size of the buffer.
func latencyBlock(rows []probed, caches []result.Cache, opts Options) string {
	all, sizes := latencySeries(rows)
	if len(all) == 0 {
		return ""
	}
	columns, cells := []column{right("buffer")}, make([][]string, len(sizes))
	if len(caches) > 0 {
		columns = append(columns, left("fits in"))
	}
	for _, s := range all {
		columns = append(columns, right(text.Snip(s.name, max(16, opts.columns()-16), "…")))
	}
	for i, bytes := range sizes {
		cells[i] = []string{size(bytes)}
		if len(caches) > 0 {
			cells[i] = append(cells[i], fits(bytes, caches))
		}
		for _, s := range all {
			ns, ok := s.ns[bytes]
			if !ok {
				cells[i] = append(cells[i], none)
				continue
			}
			cells[i] = append(cells[i], strconv.FormatFloat(ns, 'f', 2, 64))
		}
	}
	return boldTitle("ns an access by the buffer", opts) + foldedGrid(columns, cells, opts)
}

// fits is the smallest cache that holds so many bytes.
func fits(bytes uint64, caches []result.Cache) string {
	for _, cache := range caches {
		if bytes <= cache.Bytes {
			return fmt.Sprintf("L%d (%s)", cache.Level, size(cache.Bytes))
		}
	}
	return "no cache"
}

// NumaSVG writes what the rows took as an SVG file that needs nothing else: where there are several buffers, curves of
// the time of an access, and else a map of seconds by the nodes of the memory and of the CPUs.
func NumaSVG(w io.Writer, run *result.Run) error {
	run = clean(run)
	rows := measured(probedRows(run))
	if len(rows) == 0 {
		return hint.With(errors.New("cannot draw the run: no row has a good sample"), "--format table says why")
	}
	model := ""
	if run.Host.CPUModel != "" {
		model = ", " + strings.Join(strings.Fields(run.Host.CPUModel), " ")
	}
	drawn := numaMap(rows, model)
	if all, sizes := latencySeries(rows); len(all) > 0 {
		drawn = numaCurves(all, sizes, model)
	}
	if _, err := io.WriteString(w, drawn); err != nil {
		return fmt.Errorf("cannot write the picture as SVG: %w", err)
	}
	return nil
}

// numaCurves draws the time of an access over the buffer's size.
func numaCurves(all []series, sizes []uint64, model string) string {
	var curves []curve
	var about []string
	for _, s := range all {
		c := curve{name: s.name}
		for _, bytes := range sizes {
			if ns, ok := s.ns[bytes]; ok {
				c.points = append(c.points, [2]float64{float64(bytes), ns})
			}
		}
		first, last := c.points[0], c.points[len(c.points)-1]
		about = append(about, fmt.Sprintf("%s: %s ns in %s, %s ns in %s.", s.name, digits(first[1]), size(uint64(first[0])),
			digits(last[1]), size(uint64(last[0]))))
		curves = append(curves, c)
	}
	return chartSVG([]panel{{"ns an access", curves}}, byBytes, "Memory access by the buffer"+model,
		strings.Join(about, " "))
}

// numaMap draws the mean seconds of the rows that differ from the first in nothing but their nodes.
func numaMap(rows []probed, model string) string {
	first := rows[0].NumaRow
	alike := func(row result.NumaRow) bool {
		row.Row, row.Mem, row.CPU = first.Row, first.Mem, first.CPU
		return row == first
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(row probed) bool { return !alike(row.NumaRow) })
	var nodes []int
	var means []float64
	for _, row := range rows {
		nodes = append(nodes, row.Mem, row.CPU)
		means = append(means, result.Distribute(slices.Clone(row.seconds)).Mean)
	}
	// The one that floats comes last, as in the table.
	slices.SortFunc(nodes, func(a, b int) int { return cmp.Compare(uint(a), uint(b)) })
	nodes = slices.Compact(nodes)
	factor, unit := wholeUnit(means)
	h := &heat{unit: unit, at: make([][]float64, len(nodes))}
	for i, node := range nodes {
		h.seat = append(h.seat, seat{cpu: i})
		h.names = append(h.names, orWord(node, "F"))
		h.at[i] = slices.Repeat([]float64{math.NaN()}, len(nodes))
	}
	for i, row := range rows {
		h.at[slices.Index(nodes, row.Mem)][slices.Index(nodes, row.CPU)] = means[i] * factor
	}
	var under []string
	for n, axis := range numaAxes {
		if axis.key != "Mem" && axis.key != "CPU" {
			under = append(under, numaAxes[n].key+": "+axis.of(&first))
		}
	}
	return heatSVG(h, "Mean time by the node of memory (down) and CPUs (across)"+model,
		"A row is a node that the memory is bound to, a column one that the process is bound to; F floats. "+
			strings.Join(under, ", ")+".")
}
