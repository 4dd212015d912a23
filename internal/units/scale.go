// Package units shows figures to people: times, sizes, counts and fractions, in three digits and the unit that suits
// them, or exactly where a program reads them back. It knows nothing of what the figures are of.
package units

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Tenths shows nanoseconds as tables of latencies do.
func Tenths(ns float64) string { return strconv.FormatFloat(ns, 'f', 1, 64) }

// None is what a row shows that lacks a figure.
const None = "-"

// Exact is the shortest decimal that reads back as x, with an exponent only where encoding/json has one too: a count
// looks the same before and after a journal.
func Exact(x float64) string {
	if size := math.Abs(x); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// WholeUnit is the largest unit in which the least of the times has a whole part, and seconds for times like those of
// the RFC.
func WholeUnit(times []float64) (factor float64, unit string) {
	least := math.Inf(1)
	for _, x := range times {
		if x > 0 {
			least = min(least, x)
		}
	}
	for _, u := range timeUnits {
		if least*u.factor >= 1 {
			factor, unit = u.factor, u.name
		}
	}
	if unit == "" {
		return timeUnits[0].factor, timeUnits[0].name
	}
	return factor, unit
}

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

// Seconds shows a duration: three digits in its unit.
func Seconds(x float64) string {
	for _, unit := range timeUnits {
		if x != 0 && math.Abs(x) < unit.below {
			return Digits(x*unit.factor) + " " + unit.name
		}
	}
	return Digits(x) + " s"
}

// Together shows durations that are read beside each other: in one unit and with as many decimals, three digits for the
// least. Where they lie too far apart for that, each is shown by itself.
func Together(all []float64) func(x float64) string {
	all = slices.DeleteFunc(slices.Clone(all), func(x float64) bool { return !(x > 0 && x <= math.MaxFloat64) })
	if len(all) == 0 || slices.Max(all) >= 1000*slices.Min(all) {
		return Seconds
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

// Duration shows a person how long something takes: in tenths of a second below ten, then in whole ones.
func Duration(x float64) string {
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

// Large shows a big count or rate: three digits and an SI prefix.
func Large(x float64) string {
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
			return Digits(x/unit.factor) + " " + unit.prefix
		}
	}
	return Count(x)
}

// Digits shows three significant digits, and never fewer than the whole part has; 0 is "0".
func Digits(x float64) string {
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

// Count shows a number of things; a median between two counts may end in .5.
func Count(x float64) string {
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

// Percent shows a fraction of 1.
func Percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }

// Share shows a fraction of 1 that somebody chose, with no more decimals than it has: 2%, as verdicts say it.
func Share(x float64) string { return strconv.FormatFloat(math.Round(1e4*x)/100, 'f', -1, 64) + "%" }

// Ratio shows a factor.
func Ratio(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// Bytes shows bytes to a person: three digits and a binary prefix.
func Bytes(bytes uint64) string {
	x, unit := float64(bytes), "B"
	for _, larger := range []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} {
		if x < 1023.5 {
			break
		}
		x, unit = x/1024, larger
	}
	if x == math.Trunc(x) {
		return Count(x) + " " + unit
	}
	return Digits(x) + " " + unit
}

func Things(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}
