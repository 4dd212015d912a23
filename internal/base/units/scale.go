// Package units formats figures for people, with three digits in a suitable unit, or exactly for programs that parse
// them.
package units

import (
	"math"
	"strconv"
	"strings"
)

// Tenths formats nanoseconds with one decimal, for tables of latencies.
func Tenths(ns float64) string { return strconv.FormatFloat(ns, 'f', 1, 64) }

// None stands for a missing figure.
const None = "-"

// Exact returns the shortest decimal that parses to x, with an exponent only if encoding/json uses one, so that a
// count has the same text before and after it is stored in a journal.
func Exact(x float64) string {
	if size := math.Abs(x); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// WholeUnit returns the largest unit in which the smallest of the times is at least 1, like the seconds of the RFC.
func WholeUnit(times []float64) (factor float64, name string) {
	least := math.Inf(1)
	for _, x := range times {
		if x > 0 {
			least = min(least, x)
		}
	}
	unit := timeUnits[0]
	for _, larger := range timeUnits[1:] {
		if least*larger.factor >= 1 {
			unit = larger
		}
	}
	return unit.factor, unit.name
}

// timeUnits are the units of a formatted duration.
var timeUnits = [...]struct {
	below  float64 // seconds
	factor float64
	name   string
}{
	// At these bounds three digits round up to the next unit: 999.6 µs is 1.00 ms.
	{999.5e-9, 1e9, "ns"},
	{999.5e-6, 1e6, "µs"},
	{999.5e-3, 1e3, "ms"},
	{math.Inf(1), 1, "s"},
}

// Seconds formats a duration in seconds with three digits in a suitable unit.
func Seconds(x float64) string {
	for _, unit := range timeUnits {
		if x != 0 && math.Abs(x) < unit.below {
			return Digits(x*unit.factor) + " " + unit.name
		}
	}
	return Digits(x) + " s"
}

// CommonUnit returns a formatter for durations that are compared: that of ScaleOf. If they differ by a factor of 1000 or
// more, each has its own unit.
func CommonUnit(all []float64) func(x float64) string {
	scale := ScaleOf(all)
	if scale.decimals < 0 {
		return Seconds
	}
	return scale.Text
}

// Duration formats a time in seconds for progress and estimates: with one decimal below ten, then in whole seconds.
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

// Large formats a large count or rate with three digits and an SI prefix.
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

// Digits formats three significant digits, or all digits of a longer whole part; 0 is "0".
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

// Count formats a count; a median between two counts may end in .5.
func Count(x float64) string {
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

// Percent formats a fraction of 1 as a percentage.
func Percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }

// Share formats a chosen fraction of 1, such as a threshold, without trailing zeros: 2%.
func Share(x float64) string { return strconv.FormatFloat(math.Round(1e4*x)/100, 'f', -1, 64) + "%" }

// Ratio formats a factor with two decimals.
func Ratio(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// Bytes formats a number of bytes with three digits and a binary prefix.
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

// Things returns a number of things: "1 copy", "2 copies".
func Things(n int, thing string) string {
	if n != 1 {
		thing = Plural(thing)
	}
	return strconv.Itoa(n) + " " + thing
}

// Plural returns the plural of a word.
func Plural(word string) string {
	switch stem, y := strings.CutSuffix(word, "y"); {
	case y && !strings.ContainsAny(stem[len(stem)-1:], "aeou"):
		return stem + "ies"
	case strings.HasSuffix(word, "s"), strings.HasSuffix(word, "ch"):
		return word + "es"
	}
	return word + "s"
}
