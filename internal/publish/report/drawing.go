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
	of := views.Of(run.Experiment)
	times := func(run *result.Run) (chart.Drawing, bool) { return chart.CellTimes(views.Shape(run).Series(run)) }
	panels := func(run *result.Run) (chart.Drawing, bool) { return chart.SamplePanels(views.Shape(run).Series(run)) }
	cpus := func(run *result.Run) (chart.Drawing, bool) { return chart.CPUStrip(views.Shape(run).RowsOf(run)) }
	return slices.Concat(
		[]experiment.Drawing{
			{Anchor: ratiosAnchor, Draw: chart.RatioForest(views.Shape(run))},
			{Anchor: "times", Draw: times},
			{Anchor: "samples", Draw: panels},
		},
		of.Drawings,
		[]experiment.Drawing{{Anchor: "cpus", Draw: cpus}},
	)
}
