package result

import (
	"math"
	"sort"
)

// The buckets of a Histogram are those of Prometheus's native histograms of schema 3: eight for each doubling, so that
// one is 9% wider than the one before. Bucket i holds what is above 2^((i-1)/8) seconds and not above 2^(i/8).
// https://prometheus.io/docs/specs/native_histograms/
const (
	HistogramSchema = 3
	perOctave       = 1 << HistogramSchema
	// From 2^-24 s (60 ns), below which a worker's time is not exact, to 2^16 s (18 hours).
	leastOctave, lastOctave = -24, 16
	// HistogramFirst is the index of the first bucket above HistogramTiny.
	HistogramFirst = leastOctave*perOctave + 1
	// HistogramSize is the number of counts.
	HistogramSize = 1 + (lastOctave-leastOctave)*perOctave
)

// HistogramTiny is the upper end of the first bucket, in seconds.
const HistogramTiny = 1.0 / (1 << -leastOctave)

// Histogram counts durations in seconds.
type Histogram struct {
	// The first counts durations up to HistogramTiny, the next those of bucket HistogramFirst, and so on; the last also
	// counts all longer ones.
	Counts [HistogramSize]uint64
	Sum    float64
}

// Add counts a duration.
func (h *Histogram) Add(seconds float64) {
	h.Counts[HistogramIndex(seconds)]++
	h.Sum += seconds
}

// Total returns the number of durations counted.
func (h *Histogram) Total() (n uint64) {
	for _, count := range h.Counts {
		n += count
	}
	return n
}

// UpTo returns the number of durations of at most 2^octave seconds: a bucket of a classic histogram.
func (h *Histogram) UpTo(octave int) (n uint64) {
	for _, count := range h.Counts[:octave*perOctave-HistogramFirst+2] {
		n += count
	}
	return n
}

// fractions are the upper ends of an octave's buckets, in 0.5…1.
var fractions = func() (f [perOctave]float64) {
	for i := range f {
		f[i] = math.Exp2(float64(i)/perOctave - 1)
	}
	return f
}()

// HistogramIndex returns the index in a Histogram's counts of a duration.
func HistogramIndex(seconds float64) int {
	if !(seconds > HistogramTiny) {
		return 0
	}
	fraction, octave := math.Frexp(seconds)
	bucket := sort.SearchFloat64s(fractions[:], fraction) + (octave-1)*perOctave
	return min(bucket-HistogramFirst+1, HistogramSize-1)
}
