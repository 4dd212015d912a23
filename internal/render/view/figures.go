package view

import (
	"strings"

	"gorun/internal/column"
	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/units"
)

// FiguresBlock shows the figures that the columns have: the median over the samples and, where they differ, the range.
// Details are for opts.Verbose.
func FiguresBlock(samples []result.Sample, columns column.List, opts term.Options) string {
	var lines [][]string
	for _, c := range columns {
		s, ok := spreadOf(samples, c)
		if c.Hidden || c.Detail && !opts.Verbose || !ok {
			continue
		}
		line := []string{label(c), shown(c, s.Median), ""}
		if low, high := shown(c, s.Least), shown(c, s.Greatest); low != high {
			line[2] = low + " … " + high
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return ""
	}
	return term.Grid([]term.Column{term.Left(""), term.Right(""), term.Left("")}, lines)
}

// label returns the name of a figure.
func label(c column.Column) string {
	if c.Label != "" {
		return c.Label
	}
	name := strings.TrimSuffix(strings.TrimSuffix(c.Name, "_seconds"), "_ns")
	return strings.ReplaceAll(name, "_", " ")
}

// shown is a figure in the scale that a person reads best.
func shown(c column.Column, x float64) string {
	switch c.Unit {
	case column.Count:
		return units.Count(x)
	case column.Seconds:
		return units.Seconds(x)
	case column.Nanoseconds:
		return units.Seconds(x / 1e9)
	case column.Bytes:
		return units.Bytes(uint64(x))
	case column.Ratio:
		return units.Ratio(x)
	case column.Share:
		return units.Percent(x)
	}
	return units.Large(x)
}
