package chart

import (
	"math"
	"slices"

	"gorun/internal/record/table"
	"gorun/internal/show/view"
)

const (
	timesRow  = 40
	timesTall = 16  // of the samples in a row
	timesDots = 200 // samples of a row up to which each is a dot of its own
	timesBin  = 4   // width of a step of a density
)

// CellTimes draws the figures of all cells on one axis: each sample or, of many, how dense they lie, the range from the least to the
// greatest, and the median. False if there is nothing to compare.
func CellTimes(set view.SeriesSet) (Drawing, bool) {
	all, scale := measured(set), set.Scale()
	if len(all) < 2 {
		return Drawing{}, false
	}
	f := Drawing{
		Title:       "All on one axis: " + set.Subject(),
		Description: "Each dot is a sample, the line goes from the least to the greatest, and the bar is the median.",
		Table:       table.Table{Name: "times", Title: "The samples of each cell: " + set.Subject()},
	}
	f.Table.Add("cell", "median", "least", "greatest", "samples")
	drawn := first(&f, all, maxRows)
	var ends []float64
	most := 0
	for _, s := range drawn {
		if d, n := s.Distribution(); n > 0 {
			ends, most = append(ends, d.Min, d.Max), max(most, n)
			f.Table.Rows = append(f.Table.Rows, table.Row{Name: s.Name, Values: []table.Value{
				table.Text(s.Name), set.Value(d.Median), set.Value(d.Min), set.Value(d.Max), table.Count(n),
			}})
		}
	}
	if most == 0 {
		return Drawing{}, false
	}
	if most > timesDots {
		f.Description = "The shape is the higher, the more samples lie there; the line goes from the least to the greatest, and the bar " +
			"is the median."
	}
	axis := closeAxis(ends, innerWidth)
	if axis.factors {
		f.Description += " Equal distances are equal factors."
	}
	rows := make([]row, len(drawn))
	for i, s := range drawn {
		rows[i] = row{s.Name, medianText(s, scale), axis.grid(timesRow) + timesOf(s, axis, scale, most <= timesDots)}
	}
	f.SVG = drawRows(f, nil, rows, timesRow, axis.labels(scale.Tick), 26)
	return f, true
}

// timesOf is the samples of one row.
func timesOf(s view.Series, axis Axis, scale view.Scale, each bool) Markup {
	d, n := s.Distribution()
	if n == 0 {
		return ""
	}
	const middle = rowNames + timesTall/2
	var b pieces
	b.add(`<g class="a"><title>%s to %s</title><path d="M%.1f %dH%.1f" stroke-width="2" opacity=".5"/></g>`,
		scale.Text(d.Min), scale.Text(d.Max), axis.At(d.Min), middle, axis.At(d.Max))
	if each {
		b.put(`<g class="a" stroke="none" opacity=".6">`)
		for _, p := range s.Points {
			if p.Good() {
				b.add(`<circle cx="%.1f" cy="%d" r="3"/>`, axis.At(p.Figure), middle)
			}
		}
		b.put("</g>")
	} else {
		b.put(density(s, axis, middle))
	}
	b.add(`<path d="M%.1f %dv%d" stroke="currentColor" stroke-width="2.5"><title>median %s</title></path>`+"\n",
		axis.At(d.Median), rowNames, timesTall, scale.Text(d.Median))
	return b.whole()
}

// density is a shape around the middle of a row, in steps. The step with the most samples is as tall as the row, and one with a single
// sample can be seen.
func density(s view.Series, axis Axis, middle int) Markup {
	counts := make([]int, innerWidth/timesBin+1)
	for _, p := range s.Points {
		if p.Good() {
			counts[int(inside(axis.At(p.Figure)))/timesBin]++
		}
	}
	most := float64(slices.Max(counts))
	shape := Markup("")
	for i, n := range counts {
		if n > 0 {
			half := max(1.5, timesTall/2*math.Sqrt(float64(n)/most))
			shape += mark("M%d %.1fh%dv%.1fh-%[3]dz", i*timesBin, float64(middle)-half, timesBin, 2*half)
		}
	}
	return `<path class="a" stroke="none" opacity=".8" d="` + shape + `"/>`
}
