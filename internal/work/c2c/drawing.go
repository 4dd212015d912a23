package c2c

import (
	"fmt"
	"io"
	"slices"

	"gorun/internal/record/result"
	"gorun/internal/show/chart"
	"gorun/internal/show/term"
)

// writeSVG writes the heat map of a run of `gorun c2c` as a self-contained SVG file.
func writeSVG(w io.Writer, run *result.Run) error {
	return chart.Write(w, run, fmt.Errorf("cannot draw the heat map: this run of gorun %s has no good sample of a pair of"+
		" CPUs, or has more than %d CPUs", term.Clean(run.Experiment), chart.MapLimit), drawMap)
}

// drawMap draws the one-way times of all pairs of CPUs as a heat map, CPUs ordered by locality, with the times by
// relation. It returns false if no pair has a good sample, or if there are too many CPUs.
func drawMap(run *result.Run) (chart.Drawing, bool) {
	if run.Experiment != "c2c" {
		return chart.Drawing{}, false
	}
	// 256 CPUs have 32,640 samples; only this part of each is shown.
	pairs := slices.DeleteFunc(term.Clean(measuredPairs(run.Samples)), func(p Figures) bool {
		return !chart.Drawable(p.NS)
	})
	drawn, height, ok := chart.DrawMaps(heatOf(pairs))
	if !ok {
		return chart.Drawing{}, false
	}
	f := chart.Drawing{Title: "Core-to-core latency, one way, in ns"}
	f.Description = "CPUs are ordered by node, cache and core."
	if len(pairs) > 1 {
		f.Description += " " + extremes(pairs) + "."
	}
	f.SVG = chart.Frame(f, chart.CPUModel(term.Clean(run.Host)), height, drawn)
	return f, true
}
