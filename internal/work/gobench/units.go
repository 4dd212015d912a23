package gobench

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"

	"gorun/internal/base/lazy"
	"gorun/internal/record/result"
)

// declared matches the line by which a program says whether a lower or a higher figure of a unit is better
// (golang.org/design/14313-benchmark-format).
var declared = lazy.Regexp(`(?m)^Unit\s+(\S+)\s(?:.*\s)?better=(higher|lower)\b`)

// judged returns the own figures of a result that can be judged: those with a known direction. The first of them, in the order of the
// line, or else the throughput, takes the place of a time that the result does not have. output is that of the test binary.
func (l Figures) judged(output []byte) (by *result.JudgedFigure, figures []result.JudgedFigure) {
	better := map[string]string{}
	for _, match := range declared().FindAllSubmatch(output, -1) {
		better[string(match[1])] = string(match[2])
	}
	for _, unit := range slices.Sorted(maps.Keys(l.Own)) {
		direction, known := better[unit]
		if !known {
			direction = usual(unit)
		}
		if direction != "" && unit != throughput {
			figures = append(figures, result.JudgedFigure{Column: own.Name + "_" + unit, Label: unit, Better: direction})
		}
	}
	first := slices.IndexFunc(figures, func(f result.JudgedFigure) bool { return l.Own[f.Label] > 0 })
	switch {
	case l.timed():
	case first >= 0:
		by = new(figures[first])
		figures = slices.Delete(figures, first, first+1)
	case l.Own[throughput] > 0:
		by = &result.JudgedFigure{Column: own.Name + "_" + throughput, Label: throughput, Better: result.Higher}
	}
	return by, figures
}

// throughput is the unit of SetBytes, which package testing computes from the time.
const throughput = "MB/s"

// costs matches a time, or an amount of memory, with what precedes it in a unit: "p99-ns".
var costs = lazy.Regexp(`^(?:.*[-_])?(?:[nuµm]?s|ns|sec|seconds|[KMG]i?B|B|bytes|allocs)$`)

// usual returns the direction in which figures of a unit are usually better; "": it is not known.
func usual(unit string) string {
	switch (benchfmt.UnitMetadataMap{}).GetBetter(unit) {
	case 1:
		return result.Higher
	case -1:
		return result.Lower
	}
	amount, of, _ := strings.Cut(unit, "/")
	switch {
	case of == "s" || of == "sec" || of == "second":
		return result.Higher
	case costs().MatchString(amount):
		return result.Lower
	}
	return ""
}
