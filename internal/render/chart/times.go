package chart

import (
	"fmt"
	"strings"

	"gorun/internal/render/view"
	"gorun/internal/units"
)

const (
	timesRow  = 40
	timesTall = 16 // of the samples in a row
)

// CellTimes draws the times of all cells on one axis: each sample, the range from the least to the greatest, and the median.
// False if there is nothing to compare.
func CellTimes(set view.SeriesSet) (Drawing, bool) {
	all, scale := measured(set), set.Scale()
	if len(all) < 2 {
		return Drawing{}, false
	}
	f := Drawing{
		Title:       "All on one axis: " + set.What,
		Description: "Each dot is a sample, the line goes from the least to the greatest, and the bar is the median.",
	}
	drawn := first(&f, all, maxRows)
	var ends []float64
	total := 0
	for _, s := range drawn {
		if d, n := s.Distribution(); n > 0 {
			ends = append(ends, d.Min, d.Max)
			total += n
		}
	}
	if total == 0 {
		return Drawing{}, false
	}
	axis := closeAxis(ends, innerWidth)
	if axis.factors {
		f.Description += " Equal distances are equal factors."
	}
	rows := make([]row, len(drawn))
	for i, s := range drawn {
		rows[i] = row{s.Name, medianText(s, scale), axis.grid(timesRow) + timesOf(s, axis, scale, total <= samplesMarks)}
	}
	f.SVG = drawRows(f, nil, rows, timesRow, axis.labels(func(tick float64) string { return tickOf(scale, tick) }), 26)
	return f, true
}

// timesOf is the samples of one row.
func timesOf(s view.Series, axis Axis, scale units.Scale, each bool) string {
	d, n := s.Distribution()
	if n == 0 {
		return ""
	}
	const middle = rowNames + timesTall/2
	var b strings.Builder
	fmt.Fprintf(&b, `<g class="a"><title>%s to %s</title><path d="M%.1f %dH%.1f" stroke-width="2" opacity=".5"/></g>`,
		scale.Text(d.Min), scale.Text(d.Max), axis.At(d.Min), middle, axis.At(d.Max))
	if each {
		b.WriteString(`<g class="a" stroke="none" opacity=".6">`)
		for _, p := range s.Points {
			if p.Good() {
				fmt.Fprintf(&b, `<circle cx="%.1f" cy="%d" r="3"/>`, axis.At(p.Seconds), middle)
			}
		}
		b.WriteString("</g>")
	}
	fmt.Fprintf(&b, `<path d="M%.1f %dv%d" stroke="currentColor" stroke-width="2.5"><title>median %s</title></path>`+"\n",
		axis.At(d.Median), rowNames, timesTall, scale.Text(d.Median))
	return b.String()
}
