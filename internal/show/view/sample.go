// Package view has the parts that the views of several experiments share: a run's options, the samples that count and
// their spread, and the blocks of a table that show cells, CPUs, workers and how good the samples are.
package view

import (
	"slices"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/stats"
)

// CellOf is the configuration of a sample; nil in a run without cells.
func CellOf(run *result.Run, s *result.Sample) *result.Cell {
	if s.Slot == nil {
		return nil
	}
	return &run.Cells[s.Cell]
}

// Summarised are the samples that a median is made of: the good ones; or all, where none is good, since an interrupted
// run still shows what it has.
func Summarised(samples []result.Sample) []result.Sample {
	if good := result.Good(samples); len(good) > 0 {
		return good
	}
	return samples
}

// SpreadOf returns the spread of a figure over the samples that have it; false if none has.
func SpreadOf(samples []result.Sample, of column.Column) (table.Spread, bool) {
	var all []float64
	for i := range samples {
		if figure, ok := of.Number(&samples[i]); ok {
			all = append(all, figure)
		}
	}
	if len(all) == 0 {
		return table.Spread{}, false
	}
	return table.Spread{Median: stats.Median(all), Least: slices.Min(all), Most: slices.Max(all), Unit: of.Unit}, true
}
