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

// Good returns the samples that count: the same slice if all do.
func Good(samples []Sample) []Sample {
	bad := func(s Sample) bool { return !s.Good() }
	if !slices.ContainsFunc(samples, bad) {
		return samples
	}
	return slices.DeleteFunc(slices.Clone(samples), bad)
}

// Typical returns the sample with the median wall time (the faster of the middle two), or nil without samples. Figures
// that cannot be added over samples, such as those of CPUs and workers, are shown for this one.
func Typical(samples []Sample) *Sample {
	all := make([]*Sample, len(samples))
	for i := range samples {
		all[i] = &samples[i]
	}
	return stats.Middle(all, func(s *Sample) float64 { return s.Seconds })
}

// Summarise derives the summary of a run from its good samples; nil if there are none.
func Summarise(samples []Sample) *Summary {
	var seconds []float64
	for i := range samples {
		if samples[i].Good() {
			seconds = append(seconds, samples[i].Seconds)
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
