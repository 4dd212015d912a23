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
func Summarised(samples result.Samples) result.Samples {
	if good := result.Good(samples); good.Len() > 0 {
		return good
	}
	return samples
}

// SpreadOf returns the spread of a figure over the samples that have it; false if none has.
func SpreadOf(samples result.Samples, of column.Column) (table.Spread, bool) {
	spread, n := SpreadAmong(samples, of)
	return spread, n > 0
}

// SpreadAmong returns the spread of a figure over the samples that have it, and how many they are.
func SpreadAmong(samples result.Samples, of column.Column) (spread table.Spread, n int) {
	var all []float64
	for _, s := range samples.Each() {
		if figure, ok := of.Number(s); ok {
			all = append(all, figure)
		}
	}
	if len(all) == 0 {
		return spread, 0
	}
	slices.Sort(all)
	return table.Spread{Median: stats.Median(all), Least: all[0], Most: all[len(all)-1], Unit: of.Unit}, len(all)
}
