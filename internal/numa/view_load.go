package numa

import (
	"cmp"
	"math"
	"slices"

	"gorun/internal/column"
	"gorun/internal/experiment"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/table"
)

// Load shows runs of `gorun numa --load-only`, whose experiment is named "load".
var Load = experiment.Experiment{
	Text: experiment.Text{Name: "load", Question: "How much of each CPU did the load take?"}, Columns: loadColumns,
	View: &experiment.View{Options: []string{"load"}, Tables: func(run *result.Run, _ view.Shape) []table.Table {
		return []table.Table{burnedTable(run)}
	}},
}

// burned is the load of a CPU with --load-only, in percent, second by second.
type burned struct {
	cpu      int
	achieved []float64
	worst    float64 // furthest from the request, with its sign
}

// burnedCPUs groups the samples' loads by CPU.
func burnedCPUs(samples []result.Sample) (cpus []*burned, requested float64) {
	at := map[int]*burned{}
	for i := range samples {
		v, ok := result.Typed[loadFigures](&samples[i])
		if !ok || !samples[i].Good() || v.Load == nil {
			continue
		}
		for _, c := range v.Load.CPUs {
			if at[c.CPU] == nil {
				at[c.CPU] = &burned{cpu: c.CPU}
				cpus = append(cpus, at[c.CPU])
			}
			b := at[c.CPU]
			b.achieved = append(b.achieved, c.Achieved)
			if off := c.Achieved - v.Load.Requested; math.Abs(off) > math.Abs(b.worst) {
				b.worst = off
			}
			requested = v.Load.Requested
		}
	}
	slices.SortFunc(cpus, func(a, b *burned) int { return cmp.Compare(a.cpu, b.cpu) })
	return cpus, requested
}

// burnedTable has a row for each CPU.
func burnedTable(run *result.Run) table.Table {
	cpus, requested := burnedCPUs(run.Samples)
	percent := func(of func(d result.Distribution) float64) func(b *burned) table.Value {
		return func(b *burned) table.Value {
			return table.Number{X: of(result.Distribute(slices.Clone(b.achieved))), Unit: column.Percent}
		}
	}
	return table.Of(cpus).
		With("CPU", func(b *burned) table.Value { return table.Count(b.cpu) }).
		With("requested", func(*burned) table.Value { return table.Number{X: requested, Unit: column.Percent} }).
		With("mean", percent(func(d result.Distribution) float64 { return d.Mean })).
		With("least", percent(func(d result.Distribution) float64 { return d.Min })).
		With("greatest", percent(func(d result.Distribution) float64 { return d.Max })).
		With("furthest off", func(b *burned) table.Value { return table.Number{X: b.worst, Unit: column.Percent} }).
		Table("load", "Load of each CPU")
}
