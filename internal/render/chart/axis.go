package chart

import (
	"math"
	"slices"
	"strconv"
)

// Axis lays figures along a length.
type Axis struct {
	At    func(x float64) float64
	Ticks []float64
}

// axisOf begins at 0, unless the figures lie so far apart that the least could not be told from it: then it goes by
// equal ratios, from one decade to another, with at most ten ticks.
func axisOf(figures []float64, length float64) Axis {
	lo, hi := slices.Min(figures), slices.Max(figures)
	if lo <= 0 || hi < 50*lo {
		return Linear(min(0, lo), hi, length)
	}
	first, last := math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi))
	a := Axis{At: func(x float64) float64 { return (math.Log10(x) - first) / (last - first) * length }}
	for decade := first; decade <= last; decade += math.Ceil((last - first) / 9) {
		a.Ticks = append(a.Ticks, math.Pow(10, decade))
	}
	return a
}

// Linear has ticks at round numbers: 1, 2 or 5 times a power of ten apart, at most nine.
func Linear(lo, hi, length float64) Axis {
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
	a := Axis{At: func(x float64) float64 { return (x - lo) / (hi - lo) * length }}
	for i := range 10 {
		if tick := (math.Ceil(lo/step) + float64(i)) * step; tick <= hi {
			a.Ticks = append(a.Ticks, tick)
		}
	}
	return a
}

// closeAxis holds the figures from lo to hi and little else. If they lie far apart, equal distances on it are equal factors.
func closeAxis(lo, hi, length float64) (axis Axis, byFactors bool) {
	if lo > 0 && hi >= 10*lo {
		return factors(lo, hi, length), true
	}
	pad := 0.03 * (hi - lo)
	if !(pad > 0) {
		pad = 0.05 * math.Abs(hi)
	}
	return Linear(lo-pad, hi+pad, length), false
}

// factors goes by equal ratios, and has ticks at 1, 2 and 5 times the powers of ten, or at some powers of ten.
func factors(lo, hi, length float64) Axis {
	pad := math.Pow(hi/lo, 0.03)
	lo, hi = lo/pad, hi*pad
	a := Axis{At: func(x float64) float64 { return math.Log(x/lo) / math.Log(hi/lo) * length }}
	decades := math.Log10(hi / lo)
	for power := math.Floor(math.Log10(lo)); power <= math.Log10(hi); power += max(1, math.Ceil(decades/8)) {
		for _, times := range [...]float64{1, 2, 5} {
			tick := times * math.Pow(10, power)
			if tick >= lo && tick <= hi && (times == 1 || decades < 2.5) {
				a.Ticks = append(a.Ticks, tick)
			}
		}
	}
	return a
}

// thin returns every second tick, or every third and so on, so that there are not more than this number.
func thin(ticks []float64, most int) (kept []float64) {
	every := max(1, (len(ticks)+most-1)/most)
	for i := 0; i < len(ticks); i += every {
		kept = append(kept, ticks[i])
	}
	return kept
}

// whole is linear, for what counts things.
func whole(lo, hi, length float64) Axis {
	a := Linear(lo, hi, length)
	a.Ticks = slices.DeleteFunc(a.Ticks, func(tick float64) bool { return tick != math.Trunc(tick) })
	return a
}

// doublings goes by equal ratios, and has ticks at powers of two, at most ten.
func doublings(lo, hi, length float64) Axis {
	first := math.Floor(math.Log2(lo))
	last := max(first+1, math.Ceil(math.Log2(hi)))
	a := Axis{At: func(x float64) float64 { return (math.Log2(x) - first) / (last - first) * length }}
	for power := first; power <= last; power += math.Ceil((last - first) / 9) {
		a.Ticks = append(a.Ticks, math.Exp2(power))
	}
	return a
}

func TickText(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
