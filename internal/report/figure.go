package report

import (
	"slices"

	"gorun/internal/experiment"
	"gorun/internal/render"
	"gorun/internal/render/chart"
	"gorun/internal/result"
)

// figuresOf returns the drawings of a report that apply to the run, in order: those of every run and those of its
// experiment.
func figuresOf(run *result.Run, views render.Views) []experiment.Drawing {
	of := views.Of(run.Experiment)
	times := func(run *result.Run) (chart.Figure, bool) {
		set := views.Shape(run).Series(run)
		return chart.CellTimes(set, set.Scale())
	}
	panels := func(run *result.Run) (chart.Figure, bool) {
		set := views.Shape(run).Series(run)
		return chart.SamplePanels(set, set.Scale())
	}
	return slices.Concat(
		[]experiment.Drawing{
			{Anchor: "ratios", Draw: chart.RatioForest}, {Anchor: "times", Draw: times}, {Anchor: "samples", Draw: panels},
		},
		of.Drawings,
		[]experiment.Drawing{{Anchor: "cpus", Draw: chart.CPUStrip}},
	)
}
