// Package view has the parts that the views of several experiments share: a run's options, the samples that count and
// their spread, and the blocks of a table that show cells, CPUs, workers and how good the samples are.
package view

import (
	"slices"

	"gorun/internal/column"
	"gorun/internal/result"
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

// Spread is the least, the median and the greatest of a figure over the samples that have it.
type Spread struct{ Least, Median, Greatest float64 }

// spreadOf gives false where no sample has the figure.
func spreadOf(samples []result.Sample, of column.Column) (Spread, bool) {
	var all []float64
	for i := range samples {
		if figure, ok := of.Number(&samples[i]); ok {
			all = append(all, figure)
		}
	}
	return SpreadAmong(all)
}

// SpreadAmong sorts the figures; of none it gives false.
func SpreadAmong(all []float64) (Spread, bool) {
	if len(all) == 0 {
		return Spread{}, false
	}
	slices.Sort(all)
	return Spread{all[0], stats.Median(all), all[len(all)-1]}, true
}
