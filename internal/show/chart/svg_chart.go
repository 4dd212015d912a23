package chart

import (
	"fmt"
	"slices"

	"gorun/internal/base/units"
)

// Point is a figure over x, and the range of the samples that it is the median of.
type Point struct{ X, Y, Least, Most float64 }

// Curve is a line of a chart.
type Curve struct {
	Name   string
	Points []Point // x ascending
}

// curveColours are those of Okabe and Ito ("Color Universal Design", 2008), the black and the yellow left out, which
// vanish on one ground or the other. Further curves take them again, dashed.
var curveColours = [...]string{"#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"}

var curveDashes = [...]string{"", "7 3", "2 3", "9 3 2 3"}

func curveStyle(i int) Markup {
	style := mark(`stroke="%s" stroke-width="2"`, curveColours[i%len(curveColours)])
	if dash := curveDashes[i/len(curveColours)%len(curveDashes)]; dash != "" {
		style += mark(` stroke-dasharray="%s"`, dash)
	}
	return style
}

// Panel is a chart of curves over the same x.
type Panel struct {
	Title  string
	Unit   string
	Curves []Curve
}

// Guide is a named place on the x of a chart.
type Guide struct {
	X           float64
	Name, About string
}

const (
	panelLeft   = 52 // for the figures of y
	panelWidth  = svgWidth - panelLeft - 16
	panelHeight = 180
	panelAbove  = 26 // for the title
	panelBelow  = 38 // for the figures of x and what they are
)

// abscissa names the quantity on the x axis of a chart.
type abscissa struct {
	title string
	axis  func(lo, hi, length float64) Axis
	text  func(x float64) string
}

var (
	ByCPUs  = abscissa{"CPUs", whole, units.Exact}
	ByRate  = abscissa{"GB/s", linear, units.Digits}
	ByBytes = abscissa{"buffer", doublings, func(x float64) string { return units.Bytes(uint64(x)) }}
)

// DrawCurves draws panels of the same curves below each other, with one legend, and returns the height.
func DrawCurves(panels []Panel, by abscissa, guides []Guide) (drawn Markup, height int) {
	var b pieces
	for _, p := range panels {
		b.add(`<g transform="translate(%d %d)">`+"\n", panelLeft, height+panelAbove)
		b.put(svgPanel(p, by, guides) + "</g>\n")
		height += panelAbove + panelHeight + panelBelow
	}
	legend := make([]legendItem, len(panels[0].Curves))
	for i, c := range panels[0].Curves {
		legend[i] = legendItem{c.Name, `<path d="M-11 0h22" fill="none" ` + curveStyle(i) + "/>"}
	}
	marks, tall := drawLegend(legend)
	b.add(`<g transform="translate(%d %d)">`+"\n%s</g>\n", margin, height+12, marks)
	return b.whole(), height + tall + 8
}

// svgPanel draws the axes, the guides and the curves.
func svgPanel(p Panel, by abscissa, guides []Guide) Markup {
	var xs, ys []float64
	for _, c := range p.Curves {
		for _, point := range c.Points {
			xs, ys = append(xs, point.X), append(ys, point.Least, point.Y, point.Most)
		}
	}
	least, most := slices.Min(xs), slices.Max(xs)
	xAxis, yAxis := by.axis(least, most, panelWidth), axisOf(ys, panelHeight)
	down := func(y float64) float64 { return panelHeight - yAxis.At(y) }
	var b pieces
	b.add(`<text x="%d" y="-10" font-weight="600">%s</text>`+"\n", margin-panelLeft, p.Title)
	for _, tick := range yAxis.Ticks {
		b.add(`<path d="M0 %.1fh%d" stroke="currentColor" opacity=".15"/><text x="-7" y="%.1f" text-anchor="end">`+
			"%s</text>\n", down(tick), panelWidth, down(tick)+4, tickText(tick))
	}
	for _, tick := range xAxis.Ticks {
		b.add(`<path d="M%.1f %dv4" stroke="currentColor"/>`+
			`<text x="%.1[1]f" y="%[3]d" text-anchor="middle">%[4]s</text>`+"\n", xAxis.At(tick), panelHeight, panelHeight+17,
			by.text(tick))
	}
	b.add(`<path d="M0 %dh%d" stroke="currentColor"/><text x="%[2]d" y="%[3]d" text-anchor="end">%[4]s</text>`+
		"\n", panelHeight, panelWidth, panelHeight+31, by.title)
	for _, m := range guides {
		if m.X < least || m.X > most {
			continue
		}
		x, beside, anchor := xAxis.At(m.X), 3.0, "start"
		if x > panelWidth-24 {
			beside, anchor = -3, "end"
		}
		b.add(`<g><title>%s</title><path d="M%.1f 0v%d" stroke="currentColor" stroke-dasharray="3 3"`+
			` opacity=".6"/><text x="%.1f" y="11" text-anchor="%s">%s</text></g>`+"\n", m.About, x,
			panelHeight, x+beside, anchor, m.Name)
	}
	for i, c := range p.Curves {
		var path, ranges, dots pieces
		for n, point := range c.Points {
			x := xAxis.At(point.X)
			command, over := "L", ""
			if n == 0 {
				command = "M"
			}
			if point.Least < point.Most {
				over = fmt.Sprintf(" (%s … %s)", units.Digits(point.Least), units.Digits(point.Most))
				ranges.add("M%.1f %.1fV%.1f", x, down(point.Least), down(point.Most))
			}
			path.add("%s%.1f %.1f", command, x, down(point.Y))
			dots.add(`<circle cx="%.1f" cy="%.1f" r="3"><title>%s, %s %s: %s %s%s</title></circle>`, x, down(point.Y),
				c.Name, by.text(point.X), by.title, units.Digits(point.Y), p.Unit, over)
		}
		b.add(`<path d="%s" fill="none" %s/>`, path.whole(), curveStyle(i))
		colour := curveColours[i%len(curveColours)]
		if ranges.whole() != "" {
			b.add(`<path d="%s" stroke="%s" stroke-width="5" opacity=".4"/>`, ranges.whole(), colour)
		}
		b.add(`<g fill="%s">%s</g>`+"\n", colour, dots.whole())
	}
	return b.whole()
}
