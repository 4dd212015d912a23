package render

import (
	"math"
	"slices"
	"strconv"
)

// axis lays figures along a length.
type axis struct {
	at    func(x float64) float64
	ticks []float64
}

// axisOf begins at 0, unless the figures lie so far apart that the least could not be told from it: then it goes by
// equal ratios, from one decade to another, with at most ten ticks.
func axisOf(figures []float64, length float64) axis {
	lo, hi := slices.Min(figures), slices.Max(figures)
	if lo <= 0 || hi < 50*lo {
		return linear(min(0, lo), hi, length)
	}
	first, last := math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi))
	a := axis{at: func(x float64) float64 { return (math.Log10(x) - first) / (last - first) * length }}
	for decade := first; decade <= last; decade += math.Ceil((last - first) / 9) {
		a.ticks = append(a.ticks, math.Pow(10, decade))
	}
	return a
}

// linear has ticks at round numbers: 1, 2 or 5 times a power of ten apart, at most nine.
func linear(lo, hi, length float64) axis {
	if !(hi > lo) {
		hi = lo + max(1, math.Abs(lo))
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/8)))
	for _, times := range [...]float64{1, 2, 5, 10} {
		if (hi-lo)/(step*times) <= 8 {
			step *= times
			break
		}
	}
	a := axis{at: func(x float64) float64 { return (x - lo) / (hi - lo) * length }}
	for i := range 10 {
		if tick := (math.Ceil(lo/step) + float64(i)) * step; tick <= hi {
			a.ticks = append(a.ticks, tick)
		}
	}
	return a
}

// whole is linear, for what counts things.
func whole(lo, hi, length float64) axis {
	a := linear(lo, hi, length)
	a.ticks = slices.DeleteFunc(a.ticks, func(tick float64) bool { return tick != math.Trunc(tick) })
	return a
}

// doublings goes by equal ratios, and has ticks at powers of two, at most ten.
func doublings(lo, hi, length float64) axis {
	first := math.Floor(math.Log2(lo))
	last := max(first+1, math.Ceil(math.Log2(hi)))
	a := axis{at: func(x float64) float64 { return (math.Log2(x) - first) / (last - first) * length }}
	for power := first; power <= last; power += math.Ceil((last - first) / 9) {
		a.ticks = append(a.ticks, math.Exp2(power))
	}
	return a
}

func tickText(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
