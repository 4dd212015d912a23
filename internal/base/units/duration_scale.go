package units

import (
	"math"
	"slices"
	"strconv"
)

// Scale writes durations in one unit, so that a reader can compare them at sight.
type Scale struct {
	Unit     string
	factor   float64 // of seconds
	decimals int     // of every duration; -1: three digits of each
}

// ScaleOf returns the scale for these durations in seconds. The least of them is a tenth of the unit or more.
func ScaleOf(all []float64) Scale { return ScaleFrom(0.1, all) }

// ScaleFrom returns the scale for these durations in seconds. In its unit the least is this number or more, and all have the
// same number of decimals, with three digits for the least. If the greatest is 1000 times as long as the least or longer, the
// unit fits those between, and each has three digits.
func ScaleFrom(from float64, all []float64) Scale {
	all = slices.DeleteFunc(slices.Clone(all), func(x float64) bool { return !(x > 0 && x <= math.MaxFloat64) })
	if len(all) == 0 {
		return Scale{Unit: "s", factor: 1, decimals: -1}
	}
	least, most := slices.Min(all), slices.Max(all)
	far := most >= 1000*least
	fits := func(factor float64) bool { return least*factor >= from }
	if far {
		fits = func(factor float64) bool { return math.Sqrt(least*factor)*math.Sqrt(most*factor) >= 1 }
	}
	unit := timeUnits[0]
	for _, larger := range timeUnits[1:] {
		if fits(larger.factor) {
			unit = larger
		}
	}
	s := Scale{Unit: unit.name, factor: unit.factor}
	if far {
		s.decimals = -1
		return s
	}
	for bound := 99.95; s.decimals < 3 && least*unit.factor < bound; bound /= 10 {
		s.decimals++
	}
	return s
}

// In returns the duration as a number of the scale's units.
func (s Scale) In(seconds float64) float64 { return seconds * s.factor }

// Text writes a duration with its unit.
func (s Scale) Text(seconds float64) string {
	x := s.In(seconds)
	if s.decimals < 0 {
		return Digits(x) + " " + s.Unit
	}
	return strconv.FormatFloat(x, 'f', s.decimals, 64) + " " + s.Unit
}
