package render

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// timeUnits are the units of a duration that is shown to a person.
var timeUnits = [...]struct {
	below  float64 // seconds
	factor float64
	name   string
}{
	// The bounds are where three digits round up to the next unit: 999.6 µs is 1.00 ms.
	{999.5e-9, 1e9, "ns"},
	{999.5e-6, 1e6, "µs"},
	{999.5e-3, 1e3, "ms"},
	{math.Inf(1), 1, "s"},
}

// seconds shows a duration: three digits in its unit.
func seconds(x float64) string {
	for _, unit := range timeUnits {
		if x != 0 && math.Abs(x) < unit.below {
			return digits(x*unit.factor) + " " + unit.name
		}
	}
	return digits(x) + " s"
}

// together shows durations that are read beside each other: in one unit and with as many decimals, three digits for the
// least. Where they lie too far apart for that, each is shown by itself.
func together(all []float64) func(x float64) string {
	all = slices.DeleteFunc(slices.Clone(all), func(x float64) bool { return !(x > 0 && x <= math.MaxFloat64) })
	if len(all) == 0 || slices.Max(all) >= 1000*slices.Min(all) {
		return seconds
	}
	least := slices.Min(all)
	unit := timeUnits[0]
	for _, larger := range timeUnits[1:] {
		if least*larger.factor >= 0.1 {
			unit = larger
		}
	}
	decimals := 0
	for bound := 99.95; decimals < 3 && least*unit.factor < bound; bound /= 10 {
		decimals++
	}
	return func(x float64) string { return strconv.FormatFloat(x*unit.factor, 'f', decimals, 64) + " " + unit.name }
}

// duration shows a person how long something takes: in tenths of a second below ten, then in whole ones.
func duration(x float64) string {
	if x < 9.95 {
		return strconv.FormatFloat(x, 'f', 1, 64) + " s"
	}
	whole := int(min(math.Round(x), math.MaxInt32))
	parts := []string{}
	for _, unit := range [...]struct {
		seconds int
		name    string
	}{{3600, "h"}, {60, "min"}, {1, "s"}} {
		if n := whole / unit.seconds; n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+unit.name)
		}
		whole %= unit.seconds
	}
	return strings.Join(parts[:min(2, len(parts))], " ")
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

// share shows a fraction of 1 that somebody chose, with no more decimals than it has: 2%, as verdicts say it.
func share(x float64) string { return strconv.FormatFloat(math.Round(1e4*x)/100, 'f', -1, 64) + "%" }

// ratio shows a factor.
func ratio(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }
