package result

import (
	"math"
	"slices"

	"gorun/internal/stats"
)

// Distribute summarises figures; it sorts them in place. Percentiles are nearest-rank. No figures give zeros.
func Distribute(figures []float64) Distribution {
	n := len(figures)
	if n == 0 {
		return Distribution{}
	}
	slices.Sort(figures)
	sum := 0.0
	for _, f := range figures {
		sum += f
	}
	return Distribution{
		Min:    figures[0],
		Median: stats.Median(figures),
		Mean:   sum / float64(n),
		P99:    figures[max(0, int(math.Ceil(0.99*float64(n)))-1)],
		Max:    figures[n-1],
	}
}

// Good reports whether the sample counts: it is neither partial nor invalid.
func (s *Sample) Good() bool { return !s.Partial && s.Quality.Grade != Invalid }

// Good returns the samples that count.
func Good(samples Samples) Samples { return samples.Where((*Sample).Good) }

// ByCell returns the samples of each cell.
func (r *Run) ByCell() []Samples {
	return r.Samples.Split(len(r.Cells), func(s *Sample) int {
		if s.Slot == nil {
			return -1
		}
		return s.Cell
	})
}

// Typical returns the sample with the median wall time (the faster of the middle two), or nil without samples. Figures
// that cannot be added over samples, such as those of CPUs and workers, are shown for this one.
func Typical(samples Samples) *Sample {
	if samples.Len() == 0 {
		return nil
	}
	var seconds []float64
	var places []int
	for i, s := range samples.Each() {
		seconds, places = append(seconds, s.Seconds), append(places, i)
	}
	return samples.At(stats.Middle(places, func(i int) float64 { return seconds[i] }))
}

// Summarise derives the summary of a run from its good samples; nil if there are none.
func Summarise(samples Samples) *Summary {
	var seconds []float64
	for _, s := range samples.Each() {
		if s.Good() {
			seconds = append(seconds, s.Seconds)
		}
	}
	return SummaryOf(seconds)
}

// SummaryOf returns the summary of the wall times of good samples, which it sorts; nil if there are none.
func SummaryOf(seconds []float64) *Summary {
	if len(seconds) == 0 {
		return nil
	}
	d := Distribute(seconds)
	sum := &Summary{Samples: len(seconds), Seconds: d}
	if d.Median > 0 {
		sum.Spread = (d.Max - d.Min) / d.Median
	}
	return sum
}
