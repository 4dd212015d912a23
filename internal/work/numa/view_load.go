package numa

import (
	"maps"
	"math"
	"slices"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
)

// loadTable has a row for each CPU with a load, over the good samples. Furthest off is the load that differs most from what was requested
// or, where that is less, from what was expected on a CPU that the probe used.
func loadTable(samples result.Samples) table.Table {
	requested, achieved, worst := 0.0, map[int][]float64{}, map[int]float64{}
	for _, s := range samples.All() {
		load := loadOf(s)
		if load == nil || !s.Good() {
			continue
		}
		requested = load.Requested
		for _, c := range load.CPUs {
			achieved[c.CPU] = append(achieved[c.CPU], c.Achieved)
			if off := c.Achieved - min(max(c.Achieved, c.Expected), requested); math.Abs(off) > math.Abs(worst[c.CPU]) {
				worst[c.CPU] = off
			}
		}
	}
	percent := func(of func(cpu int) float64) func(cpu int) table.Value {
		return func(cpu int) table.Value { return table.Number{X: of(cpu), Unit: column.Percent} }
	}
	return table.Of(slices.Sorted(maps.Keys(achieved))).
		With("CPU", func(cpu int) table.Value { return table.Count(cpu) }).
		With("requested", percent(func(int) float64 { return requested })).
		With("mean", percent(func(cpu int) float64 { return result.Distribute(achieved[cpu]).Mean })).
		With("least", percent(func(cpu int) float64 { return slices.Min(achieved[cpu]) })).
		With("greatest", percent(func(cpu int) float64 { return slices.Max(achieved[cpu]) })).
		With("furthest off", percent(func(cpu int) float64 { return worst[cpu] })).
		Table("load", "Load of each CPU")
}
