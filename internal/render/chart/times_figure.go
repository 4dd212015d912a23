package chart

import (
	"fmt"
	"math"
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
func CellTimes(set view.SeriesSet, scale units.Scale) (Figure, bool) {
	all := measured(set)
	if len(all) < 2 {
		return Figure{}, false
	}
	f := Figure{
		Title:       "All on one axis: " + set.What,
		Description: "Each dot is a sample, the line goes from the least to the greatest, and the bar is the median.",
	}
	drawn := all[:min(len(all), samplesPanels)]
	if hidden := len(all) - len(drawn); hidden > 0 {
		f.Description += fmt.Sprintf(" The first %d are drawn, and %d are not.", len(drawn), hidden)
	}
	total := 0
	for _, s := range drawn {
		_, n := s.Distribution()
		total += n
	}
	if total == 0 {
		return Figure{}, false
	}
	axis, byFactors := goodAxis(drawn)
	if byFactors {
		f.Description += " Equal distances are equal factors."
	}
	axis.Ticks = thin(axis.Ticks, 6)
	top := svgHeading
	bottom := top + len(drawn)*timesRow
	var b strings.Builder
	b.WriteString(openSVG(svgWidth, bottom+26, f.Title, f.Description) + svgInks)
	var grid strings.Builder
	for _, tick := range axis.Ticks {
		fmt.Fprintf(&grid, "M%.1f 14v%d", axis.At(tick), timesRow-14)
	}
	for i, s := range drawn {
		b.WriteString(rowOf(s.Name, Margin, top+i*timesRow, timesRow))
		b.WriteString(rowHeading(s.Name, 0, Inside, medianText(s, scale)))
		fmt.Fprintf(&b, `<path d="%s" stroke="currentColor" opacity=".15"/>`+"\n", grid.String())
		b.WriteString(timesOf(s, axis, scale, total <= samplesMarks) + "</g>\n")
	}
	b.WriteString(belowRows(Margin, bottom) + `<g font-size="11" text-anchor="middle">` + "\n")
	for _, tick := range axis.Ticks {
		x := min(max(axis.At(tick), 14), Inside-14)
		fmt.Fprintf(&b, `<text x="%.1f" y="14">%s</text>`, x, tickOf(scale, tick))
	}
	f.SVG = b.String() + "</g></g>\n</svg>\n"
	return f, true
}

// goodAxis is the axis of the samples that count for a median.
func goodAxis(drawn []view.Series) (axis Axis, byFactors bool) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range drawn {
		if d, n := s.Distribution(); n > 0 {
			lo, hi = min(lo, d.Min), max(hi, d.Max)
		}
	}
	return closeAxis(lo, hi, Inside)
}

// timesOf is the samples of one row.
func timesOf(s view.Series, axis Axis, scale units.Scale, each bool) string {
	d, n := s.Distribution()
	if n == 0 {
		return ""
	}
	const middle = 18 + timesTall/2
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
		axis.At(d.Median), 18, timesTall, scale.Text(d.Median))
	return b.String()
}
