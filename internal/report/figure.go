package report

import (
	"gorun/internal/render"
	"gorun/internal/render/chart"
	"gorun/internal/result"
)

// figure is a drawing of a report.
type figure struct {
	anchor string // by which a link finds it
	draw   func(run *result.Run) (chart.Figure, bool)
}

// figures are those of a report, in order; a run has those that apply to it. To add one, write its function in render
// and its row here.
var figures = [...]figure{
	{"ratios", chart.RatioForest},
	{"samples", chart.SamplePanels},
	{"curves", render.ContentionCurves},
	{"map", render.CoreToCoreMap},
	{"nodes", render.NUMAMaps},
	{"latency", render.NUMALatency},
	{"moves", render.MigrationTimeline},
	{"trials", render.BoundTrials},
	{"cpus", chart.CPUStrip},
}
