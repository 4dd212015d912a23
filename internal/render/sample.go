package render

import (
	"slices"

	"gorun/internal/result"
	"gorun/internal/stats"
)

// A figure's getter gives false where the sample does not have it.

// value gets one of the experiment's own figures.
func value(name string) func(s *result.Sample) (float64, bool) {
	return func(s *result.Sample) (float64, bool) { return s.Values.Number(name) }
}

// counter gets one of the counted disturbances.
func counter(of func(s *result.Signals) *uint64) func(s *result.Sample) (float64, bool) {
	return func(s *result.Sample) (float64, bool) {
		count := of(&s.Quality.Signals)
		if count == nil {
			return 0, false
		}
		return float64(*count), true
	}
}

// cellOf is the configuration of a sample; nil where the run has none for it.
func cellOf(run *result.Run, s *result.Sample) *result.Cell {
	if s.Slot == nil || s.Cell < 0 || s.Cell >= len(run.Cells) {
		return nil
	}
	return &run.Cells[s.Cell]
}

// summarised are the samples that a median is made of: the good ones; or all, where none is, since an interrupted run
// still shows what it has.
func summarised(samples []result.Sample) []result.Sample {
	if good := result.Good(samples); len(good) > 0 {
		return good
	}
	return samples
}

// spread is the least, the median and the greatest of a figure over the samples that have it.
type spread struct{ least, median, greatest float64 }

// spreadOf gives false where no sample has the figure.
func spreadOf(samples []result.Sample, of func(s *result.Sample) (float64, bool)) (spread, bool) {
	var all []float64
	for i := range samples {
		if figure, ok := of(&samples[i]); ok {
			all = append(all, figure)
		}
	}
	return spreadAmong(all)
}

// spreadAmong sorts the figures; of none it gives false.
func spreadAmong(all []float64) (spread, bool) {
	if len(all) == 0 {
		return spread{}, false
	}
	slices.Sort(all)
	return spread{all[0], stats.Median(all), all[len(all)-1]}, true
}
