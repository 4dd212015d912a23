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
	// From 2^-24 s (60 ns), below which a worker is not timed exactly anyhow, to 2^16 s (18 hours).
	leastOctave, lastOctave = -24, 16
	// HistogramFirst is the index of the first bucket above HistogramTiny.
	HistogramFirst = leastOctave*perOctave + 1
	// HistogramSize is how many counts there are.
	HistogramSize = 1 + (lastOctave-leastOctave)*perOctave
)

// HistogramTiny is the duration in seconds up to which all are counted as one.
const HistogramTiny = 1.0 / (1 << -leastOctave)

// Histogram counts durations in seconds.
type Histogram struct {
	// The first are those up to HistogramTiny, the next those of bucket HistogramFirst, and so on; the last has what is
	// longer, too.
	Counts [HistogramSize]uint64
	Sum    float64
}

// Add counts a duration.
func (h *Histogram) Add(seconds float64) {
	h.Counts[HistogramIndex(seconds)]++
	h.Sum += seconds
}

// Total is how many were counted.
func (h *Histogram) Total() (n uint64) {
	for _, count := range h.Counts {
		n += count
	}
	return n
}

// UpTo is how many were not longer than 2^octave seconds: what a bucket of a classic histogram tells.
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

// HistogramIndex is which of a Histogram's counts a duration belongs to.
func HistogramIndex(seconds float64) int {
	if !(seconds > HistogramTiny) {
		return 0
	}
	fraction, octave := math.Frexp(seconds)
	bucket := sort.SearchFloat64s(fractions[:], fraction) + (octave-1)*perOctave
	return min(bucket-HistogramFirst+1, HistogramSize-1)
}
