package c2c

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"gorun/internal/render/chart"
	"gorun/internal/render/term"
	"gorun/internal/result"
)

// writeSVG writes the heat map of a run of `gorun c2c` as a self-contained SVG file.
func writeSVG(w io.Writer, run *result.Run) error {
	return chart.Write(w, run, fmt.Errorf("cannot draw the heat map: this run of gorun %s has no good sample of a pair of"+
		" CPUs, or has more than %d CPUs", term.Clean(run.Experiment), chart.MapLimit), drawMap)
}

// drawMap draws the one-way times of all pairs of CPUs as a heat map, CPUs ordered by locality, with the times by
// relation. It returns false if no pair has a good sample, or if there are too many CPUs.
func drawMap(run *result.Run) (chart.Figure, bool) {
	if run.Experiment != "c2c" {
		return chart.Figure{}, false
	}
	// 256 CPUs have 32,640 samples; only this part of each is shown.
	pairs := slices.DeleteFunc(term.Clean(measuredPairs(run.Samples)), func(p measuredPair) bool {
		return !chart.Drawable(p.NS, p.RoundTripNS)
	})
	return figureOf(pairs, chart.CPUModel(term.Clean(run.Host)))
}

func figureOf(pairs []measuredPair, note string) (chart.Figure, bool) {
	h := heatOf(pairs)
	scale, ok := h.Scale()
	if !ok {
		return chart.Figure{}, false
	}
	f := chart.Figure{Title: "Core-to-core latency, one way, in ns"}
	f.Description = "CPUs are ordered by node, cache and core."
	if len(pairs) > 1 {
		f.Description += " " + extremes(pairs) + "."
	}
	drawn, height := chart.DrawMap(h, scale, chart.Inside)
	var b strings.Builder
	fmt.Fprintf(&b, `<g transform="translate(%d 0)">`+"\n%s</g>\n", chart.Margin, drawn)
	y := height + 12
	b.WriteString(chart.DrawScale(scale, h.Unit, chart.Margin+h.Labels(), y))
	f.SVG = chart.Frame(f, note, y+36, b.String())
	return f, true
}
