package report

import (
	"gorun/internal/render"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/units"
)

// scales hold the unit of each quantity on a page, by its name: "wall time".
type scales map[string]units.Scale

func (s scales) of(quantity string) units.Scale {
	if scale, known := s[quantity]; known {
		return scale
	}
	return units.ScaleOf(nil)
}

// scalesOf chooses the units by the medians of all runs: those that the answers of judged and of other runs have.
func scalesOf(inputs []Input, views render.Views) scales {
	medians, judged := map[string][]float64{}, map[string]bool{}
	for _, in := range inputs {
		set := views.Of(in.Run.Experiment).Compared.SeriesOf(in.Run)
		for _, s := range set.Series {
			if median, ok := s.Median(); ok {
				medians[set.What] = append(medians[set.What], median)
			}
		}
		for _, c := range in.Run.Cells {
			if quantity := judgedTime(in.Run, set); c.Summary != nil {
				medians[quantity], judged[quantity] = append(medians[quantity], c.Summary.Seconds.Median), true
			}
		}
	}
	all := scales{}
	for quantity, of := range medians {
		if all[quantity] = units.ScaleOf(of); !judged[quantity] {
			all[quantity] = units.ScaleFrom(1, of)
		}
	}
	return all
}

// judgedTime is the quantity of the cells' summaries.
func judgedTime(run *result.Run, set view.SeriesSet) string {
	if m := run.Matrix; m != nil && m.Datum != "" && m.Datum != result.DatumMetric {
		return set.What
	}
	return "wall time"
}
