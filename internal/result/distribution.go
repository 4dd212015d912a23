package result

import (
	"math"
	"slices"
)

// Distribute summarises figures; it sorts them in place. Percentiles are nearest-rank; the median of an even count is
// the mean of the middle two. No figures give zeros.
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
		Median: (figures[(n-1)/2] + figures[n/2]) / 2,
		Mean:   sum / float64(n),
		P99:    figures[max(0, int(math.Ceil(0.99*float64(n)))-1)],
		Max:    figures[n-1],
	}
}

// Summarise derives the summary of a run from its samples that are neither partial nor invalid; nil when there is none.
func Summarise(samples []Sample) *Summary {
	var seconds []float64
	for _, s := range samples {
		if !s.Partial && s.Quality.Verdict != Invalid {
			seconds = append(seconds, s.Seconds)
		}
	}
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
