package render

import (
	"math"
	"strconv"
)

// seconds shows a duration to a person: three digits in ns, µs, ms or s.
func seconds(x float64) string {
	for _, unit := range [...]struct {
		below  float64
		factor float64
		name   string
	}{
		// The bounds are where three digits round up to the next unit: 999.6 µs is 1.00 ms.
		{999.5e-9, 1e9, "ns"},
		{999.5e-6, 1e6, "µs"},
		{999.5e-3, 1e3, "ms"},
	} {
		if x != 0 && math.Abs(x) < unit.below {
			return digits(x*unit.factor) + " " + unit.name
		}
	}
	return digits(x) + " s"
}

// large shows a big count or rate: three digits and an SI prefix.
func large(x float64) string {
	for _, unit := range [...]struct {
		from   float64
		factor float64
		prefix string
	}{
		{999.5e9, 1e12, "T"},
		{999.5e6, 1e9, "G"},
		{999.5e3, 1e6, "M"},
		{9999.5, 1e3, "k"},
	} {
		if math.Abs(x) >= unit.from {
			return digits(x/unit.factor) + " " + unit.prefix
		}
	}
	return count(x)
}

// digits shows three significant digits, and never fewer than the whole part has; 0 is "0".
func digits(x float64) string {
	size := math.Abs(x)
	switch {
	case x == 0 || size >= 99.95 || math.IsNaN(x):
		return strconv.FormatFloat(x, 'f', 0, 64)
	case size >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case size >= 0.9995:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// count shows a number of things; a median between two counts may end in .5.
func count(x float64) string {
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

// percent shows a fraction of 1.
func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }

// ratio shows a factor.
func ratio(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }
