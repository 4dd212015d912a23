package chart

import (
	"math"
	"slices"
	"strconv"
)

// Axis lays figures along a length.
type Axis struct {
	At      func(x float64) float64
	Ticks   []float64 // at most eight
	factors bool      // equal distances are equal factors
}

// axisOf begins at 0, unless the figures lie so far apart that the least could not be told from it.
func axisOf(figures []float64, length float64) Axis {
	lo, hi := slices.Min(figures), slices.Max(figures)
	if lo > 0 && hi >= 50*lo {
		return byFactors(lo, hi, length, 10, 1, 2, 5)
	}
	return linear(min(0, lo), hi, length)
}

// closeAxis holds the figures and little else. If they lie far apart, it goes by factors.
func closeAxis(figures []float64, length float64) Axis {
	lo, hi := slices.Min(figures), slices.Max(figures)
	if lo > 0 && hi >= 10*lo {
		pad := math.Pow(hi/lo, 0.03)
		return byFactors(lo/pad, hi*pad, length, 10, 1, 2, 5)
	}
	pad := 0.03 * (hi - lo)
	if !(pad > 0) {
		pad = 0.05 * math.Abs(hi)
	}
	return linear(lo-pad, hi+pad, length)
}

// linear has ticks at round numbers: 1, 2 or 5 times a power of ten apart.
func linear(lo, hi, length float64) Axis {
	if !(hi > lo) {
		hi = lo + max(1, math.Abs(lo))
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/7)))
	for _, times := range [...]float64{1, 2, 5, 10} {
		if (hi-lo)/(step*times) <= 7 {
			step *= times
			break
		}
	}
	a := Axis{At: func(x float64) float64 { return (x - lo) / (hi - lo) * length }}
	for i := range 8 {
		if tick := (math.Ceil(lo/step) + float64(i)) * step; tick <= hi {
			a.Ticks = append(a.Ticks, tick)
		}
	}
	return a
}

// whole is linear, for what counts things.
func whole(lo, hi, length float64) Axis {
	a := linear(lo, hi, length)
	a.Ticks = slices.DeleteFunc(a.Ticks, func(tick float64) bool { return tick != math.Trunc(tick) })
	return a
}

// byFactors has ticks at multiples of the powers of a base, or if these are many, at some of its powers.
func byFactors(lo, hi, length, base float64, multiples ...float64) Axis {
	a := Axis{At: func(x float64) float64 { return math.Log(x/lo) / math.Log(hi/lo) * length }, factors: true}
	powers := math.Log(hi/lo) / math.Log(base)
	if powers > 2.5 {
		multiples = []float64{1}
	}
	step := max(1, math.Ceil(powers/7))
	for power := math.Floor(math.Log(lo)/math.Log(base)/step) * step; math.Pow(base, power) <= hi; power += step {
		for _, times := range multiples {
			if tick := times * math.Pow(base, power); tick >= lo && tick <= hi {
				a.Ticks = append(a.Ticks, tick)
			}
		}
	}
	return a
}

// doublings goes from a power of two to another one.
func doublings(lo, hi, length float64) Axis {
	first := math.Floor(math.Log2(lo))
	return byFactors(math.Exp2(first), math.Exp2(max(first+1, math.Ceil(math.Log2(hi)))), length, 2, 1)
}

// moved begins the axis at a place.
func (a Axis) moved(place float64) Axis {
	at := a.At
	a.At = func(x float64) float64 { return place + at(x) }
	return a
}

func tickText(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
