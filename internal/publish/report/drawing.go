package report

import (
	"slices"

	"gorun/internal/experiment"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
	"gorun/internal/show/chart"
)

// ratiosAnchor is that of the drawing of the verdicts.
const ratiosAnchor = "ratios"

// figuresOf returns the drawings of a report that apply to the run, in order: those of every run and those of its
// experiment.
func figuresOf(run *result.Run, views render.Views) []experiment.Drawing {
	shape := views.Shape(run)
	ratios := func(run *result.Run) (chart.Drawing, bool) { return chart.RatioForest(run, shape) }
	times := func(run *result.Run) (chart.Drawing, bool) { return chart.CellTimes(shape.Series(run)) }
	panels := func(run *result.Run) (chart.Drawing, bool) { return chart.SamplePanels(shape.Series(run)) }
	cpus := func(run *result.Run) (chart.Drawing, bool) { return chart.CPUStrip(shape.RowsOf(run)) }
	return slices.Concat(
		[]experiment.Drawing{
			{Anchor: ratiosAnchor, Draw: ratios},
			{Anchor: "why", Draw: chart.Waterfall},
			{Anchor: "parts", Draw: chart.TimeParts},
			{Anchor: "times", Draw: times},
			{Anchor: "samples", Draw: panels},
		},
		views.Of(run.Experiment).Drawings,
		[]experiment.Drawing{{Anchor: "cpus", Draw: cpus}},
	)
}
