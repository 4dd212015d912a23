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
	spreads, known := SpreadsOf(samples, of)
	return spreads[0], known[0] > 0
}

// SpreadsOf returns the spread of each figure over the samples that have it, and how many samples those are.
func SpreadsOf(samples result.Samples, figures ...column.Column) (spreads []table.Spread, known []int) {
	all := make([][]float64, len(figures))
	for _, s := range samples.Each() {
		for i, of := range figures {
			if figure, ok := of.Number(s); ok {
				all[i] = append(all[i], figure)
			}
		}
	}
	spreads, known = make([]table.Spread, len(figures)), make([]int, len(figures))
	for i, of := range all {
		if known[i] = len(of); len(of) > 0 {
			slices.Sort(of)
			spreads[i] = table.Spread{Median: stats.Median(of), Least: of[0], Most: of[len(of)-1], Unit: figures[i].Unit}
		}
	}
	return spreads, known
}
