package c2c

import (
	"slices"

	"gorun/internal/record/result"
	"gorun/internal/show/chart"
	"gorun/internal/show/term"
)

// drawMap draws the one-way times of all pairs of CPUs as a heat map, CPUs ordered by locality, with the times by
// relation. It returns false if no pair has a good sample, or if there are too many CPUs.
func drawMap(run *result.Run) (chart.Drawing, bool) {
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
