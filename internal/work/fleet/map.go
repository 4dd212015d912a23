package fleet

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gorun/internal/record/result"
	"gorun/internal/show/chart"
	"gorun/internal/show/term"
)

const (
	mostRows  = 40 // nodes in the heat map
	nameWidth = 22 // letters of a node's name there
)

// Drawings implements document.Drawn: it has the heat map of nodes and measures.
func (j *Judgement) Drawings() []chart.Drawing {
	slowest := func(n Node) (ratio float64) {
		for _, m := range n.Measures {
			if m.Bets > 0 {
				ratio = max(ratio, m.Ratio)
			}
		}
		return ratio
	}
	isSlow := map[string]bool{}
	for _, s := range j.Slow {
		isSlow[s.Node] = true
	}
	nodes := slices.DeleteFunc(slices.Clone(j.Nodes), func(n Node) bool { return n.State != Judged })
	slices.SortStableFunc(nodes, func(a, b Node) int {
		if isSlow[a.Name] != isSlow[b.Name] {
			return map[bool]int{true: -1, false: 1}[isSlow[a.Name]]
		}
		return map[bool]int{true: -1, false: 1}[slowest(a) > slowest(b)]
	})
	shown := nodes[:min(len(nodes), mostRows)]
	rates := map[string]bool{}
	for _, c := range j.Classes {
		for _, m := range c.Measures {
			rates[m.Measure] = m.Better == result.Higher
		}
	}
	measures := j.measures()
	h := &chart.Heat{Slanted: true, Ratios: true}
	for _, measure := range measures {
		h.Columns = append(h.Columns, chart.Side{Name: measure})
	}
	var names []string
	for _, n := range shown {
		row := slices.Repeat([]float64{math.NaN()}, len(h.Columns))
		for _, m := range n.Measures {
			if m.Bets > 0 {
				row[slices.Index(measures, m.Measure)] = m.Ratio
			}
		}
		names, h.At = append(names, n.Name), append(h.At, row)
	}
	for _, name := range term.Apart(names, nameWidth) {
		h.Rows = append(h.Rows, chart.Side{Name: name})
	}
	h.Label = func(i, k int) string { return names[i] + ", " + measures[k] }
	h.Words = func(i, k int) (cell, meaning string) {
		s := Standing{Measure: measures[k], Ratio: h.At[i][k], Better: result.Lower}
		if cell = strconv.FormatFloat(s.Ratio, 'f', 2, 64); rates[s.Measure] {
			s.Better, cell = result.Higher, strconv.FormatFloat(1/s.Ratio, 'f', 2, 64)
		}
		return cell, s.slower()
	}
	drawn, height, ok := chart.DrawMaps(h)
	if !ok {
		return nil
	}
	d := chart.Drawing{Title: "Each node and its peers, by measure", Table: j.slowTable()}
	d.Description = fmt.Sprintf("The slowest %d of %d judged nodes, those that are named first. A time is a multiple of the peers' time, a bandwidth "+
		"one of their bandwidth: 1.00 is equal.", len(shown), len(nodes))
	d.SVG = chart.Frame(d, "Times: × as long as the peers'. Bandwidths: × as much.", height, drawn)
	return []chart.Drawing{d}
}
