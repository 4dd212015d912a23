package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"gorun/internal/result"
)

// C2CSVG writes the heat map of a run of `gorun c2c` as an SVG file that needs nothing else.
func C2CSVG(w io.Writer, run *result.Run) error {
	return drawSVG(w, run, fmt.Errorf("cannot draw the heat map: this run of gorun %s has no good sample of a pair of"+
		" CPUs, or has more than %d CPUs", clean(run.Experiment), maxHeatCPUs), CoreToCoreMap)
}

// CoreToCoreMap is the time of a cache line's way between every two CPUs, neighbours next to each other, and what it is
// by relation. False where no pair has a good sample, or where there are too many CPUs.
func CoreToCoreMap(run *result.Run) (Figure, bool) {
	if run.Experiment != "c2c" {
		return Figure{}, false
	}
	// 256 CPUs have 32,640 samples, of which only this is shown.
	pairs := slices.DeleteFunc(clean(pairings(run.Samples)), func(p pairing) bool {
		return !drawable(p.NS, p.RoundTripNS)
	})
	return c2cFigure(pairs, cpuModel(clean(run.Host)))
}

func c2cFigure(pairs []pairing, note string) (Figure, bool) {
	h := c2cHeat(pairs)
	scale, ok := h.scale()
	if !ok {
		return Figure{}, false
	}
	head, rows := relationRows(pairs, tenths)
	_, measured := relationRows(pairs, exact)
	f := Figure{Title: "Core-to-core latency, one way, in ns", Table: FigureTable{
		Caption: "Latency by relation in ns: one way, and the median there and back", Head: head, Rows: measured,
	}}
	f.Description = "CPUs are ordered by node, cache and core."
	if len(pairs) > 1 {
		f.Description += " " + extremes(pairs) + "."
	}
	for _, row := range rows {
		f.Description += fmt.Sprintf(" %s: median %s ns.", row[0], row[2])
	}
	if len(h.seat) > mapLimit {
		var size int
		h, size = h.coarse(func(joined *heat) bool { return len(joined.seat) <= mapLimit })
		f.Description += fmt.Sprintf(" A row and a column are up to %d neighbouring CPUs; a cell is the mean of their pairs.",
			size)
	}
	drawn, height := svgMap(h, scale, svgInside)
	var b strings.Builder
	fmt.Fprintf(&b, `<g transform="translate(%d 0)">`+"\n%s</g>\n", svgMargin, drawn)
	y := height + 12
	b.WriteString(svgScale(scale.legend(), h.unit, svgMargin+h.labels(), y))
	table, tall := svgTable(head[:6], rows)
	fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n%s</g>\n", svgMargin, y+36, table)
	f.SVG = svgFigure(f, note, y+36+tall, b.String())
	return f, true
}
