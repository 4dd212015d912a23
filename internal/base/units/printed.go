package units

import (
	"fmt"
	"strings"
	"sync"

	"gorun/internal/base/hint"
)

// Printed is a figure as a program printed it.
type Printed struct {
	Value float64
	Unit  string // a word, such as MiB or us/op, or %; "": none
}

// In returns the figure in another unit. It returns an error if the program's unit can't be converted to that.
func (p Printed) In(unit string) (Printed, error) {
	factor, err := Between(p.Unit, unit)
	return Printed{p.Value * factor, unit}, err
}

// Known reports whether a word is a unit: ns, us, ms, s, m, h, B, KiB, MB, k, M, G, T, % and others, each also with /s or another word
// after a slash.
func Known(word string) bool {
	_, known := measureOf(word)
	return known && word != ""
}

// Between returns the factor from one unit to another of its kind.
func Between(from, to string) (float64, error) {
	a, knownA := measureOf(from)
	b, knownB := measureOf(to)
	if from == to {
		return 1, nil
	}
	if knownA && knownB && a.of == b.of {
		return a.factor / b.factor, nil
	}
	err := fmt.Errorf("a figure in %s cannot be compared with one in %s", named(from), named(to))
	for _, of := range []string{b.of, a.of} {
		if word, is := strings.CutPrefix(of, twofold); is {
			return 0, hint.With(fmt.Errorf("%w: some programs count %s by 1000, and some by 1024", err, word), oneUnit)
		}
	}
	return 0, hint.With(err, oneUnit)
}

const oneUnit = "let the program print all its figures in one unit"

func named(unit string) string {
	if unit == "" {
		return "no unit"
	}
	return unit
}

// measure is the quantity that a unit measures, such as time, and how much of the quantity one unit is.
type measure struct {
	of     string
	factor float64
}

// twofold begins the quantity of a unit that is a multiple of 1000 for some programs, and of 1024 for others.
const twofold = "1000 or 1024 "

// measureOf returns the measure of a unit; false if it is not known.
func measureOf(unit string) (measure, bool) {
	word, per, divided := strings.Cut(unit, "/")
	m, known := measures()[word]
	if time := measures()[per]; divided && time == (measure{"time", 1}) {
		per = "s"
	}
	if divided {
		m.of += "/" + per
	}
	return m, known && (word != "" || !divided)
}

// measures returns the units that are known, by their words.
var measures = sync.OnceValue(func() map[string]measure {
	all := map[string]measure{"": {"number", 1}, "%": {"%", 1}}
	add := func(of string, factor float64, words string) {
		for word := range strings.FieldsSeq(words) {
			all[word] = measure{of, factor}
		}
	}
	add("time", 1e-9, "ns nsec nsecs nanosecond nanoseconds")
	add("time", 1e-6, "us µs μs usec usecs microsecond microseconds")
	add("time", 1e-3, "ms msec msecs millisecond milliseconds")
	add("time", 1, "s sec secs second seconds")
	add("time", 60, "m mins minute minutes")
	add("time", 3600, "h hrs hour hours")
	add("bytes", 1, "B byte bytes Byte Bytes")
	for n, prefix := range []string{"Ki", "Mi", "Gi", "Ti"} {
		add("bytes", float64(uint64(1)<<(10*(n+1))), prefix+" "+prefix+"B "+prefix+"Bytes")
	}
	for word := range strings.FieldsSeq("K kB KB MB GB TB kBytes KBytes MBytes GBytes TBytes") {
		add(twofold+word, 1, word)
	}
	for prefix, factor := range map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12} {
		add("number", factor, prefix)
		for of, words := range map[string]string{
			"bits": "bit bits", "bits/s": "bps", "Hz": "Hz", "operations": "op ops", "requests": "req reqs", "requests/s": "rps",
			"transactions/s": "tps", "queries/s": "qps", "floating-point operations": "flop flops FLOP", "floating-point operations/s": "FLOPS",
		} {
			for word := range strings.FieldsSeq(words) {
				add(of, factor, prefix+word)
			}
		}
	}
	return all
})
