// Package chart draws runs as SVG: the axes, curves, maps and legends of every figure, and the figures that show runs
// of any experiment. A heat map is drawn as text too, from the same scale.
package chart

import "gorun/internal/record/table"

// Drawing is a drawing of a run, and what it shows as a table for those who cannot see it. Figures are pure functions of
// a run; the second result is false where there is nothing to draw.
type Drawing struct {
	Title       string
	Description string      // in sentences
	SVG         string      // one <svg> element, for a page and for a file of its own
	Table       table.Table // without rows: other tables have what is drawn
}
