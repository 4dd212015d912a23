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
func Good(samples []Sample) []Sample {
	return slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return !s.Good() })
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
		if s := &samples[i]; s.Good() {
			seconds = append(seconds, s.Seconds)
		}
	}
	return SummariseSeconds(seconds)
}

// SummariseSeconds is Summarise for the times of the good samples, which it sorts.
func SummariseSeconds(seconds []float64) *Summary {
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
