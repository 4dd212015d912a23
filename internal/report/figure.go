package report

import (
	"slices"

	"gorun/internal/experiment"
	"gorun/internal/render"
	"gorun/internal/render/chart"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/units"
)

// figuresOf returns the drawings of a report that apply to the run, in order: those of every run and those of its
// experiment.
func figuresOf(run *result.Run, views render.Views) []experiment.Drawing {
	ofSeries := func(draw func(view.SeriesSet, units.Scale) (chart.Figure, bool)) func(run *result.Run) (chart.Figure, bool) {
		return func(run *result.Run) (chart.Figure, bool) {
			set := views.Shape(run).Series(run)
			return draw(set, set.Scale())
		}
	}
	return slices.Concat(
		[]experiment.Drawing{
			{Anchor: "ratios", Draw: chart.RatioForest},
			{Anchor: "times", Draw: ofSeries(chart.CellTimes)},
			{Anchor: "samples", Draw: ofSeries(chart.SamplePanels)},
		},
		views.Of(run.Experiment).Drawings,
		[]experiment.Drawing{{Anchor: "cpus", Draw: chart.CPUStrip}},
	)
}
