package chart

import (
	"fmt"
	"unicode/utf8"

	"gorun/internal/show/term"
)

// A figure may have a row for each cell. The script of a page hides rows by data-cell, the name of the row's cell, and moves
// the rows below them, and what is marked by data-below, up by data-tall.

// row is a row of a figure: the name of its cell, a figure at its right, and what is drawn below these.
type row struct {
	name, figure string
	drawn        Markup
}

const (
	rowNames = 18  // height of a row's name
	maxRows  = 100 // of a figure
)

// drawRows draws rows of so much height below a legend, and below them what belongs to all, of so much height. Rows, and what is
// below them, are siblings that are moved by y alone.
func drawRows(f Drawing, legend []legendItem, rows []row, tall int, below Markup, deep int) string {
	top := svgHeading
	drawn, height := drawLegend(legend)
	if len(legend) > 0 {
		top += height + 4
	}
	var b pieces
	b.put(openSVG(top+len(rows)*tall+deep, f) + svgInks)
	b.add(`<g transform="translate(%d %d)">%s</g>`+"\n", margin, svgHeading, drawn)
	for i, r := range rows {
		const letter = 7.4
		room := innerWidth - letter*float64(utf8.RuneCountInString(r.figure)) - 10
		b.add(`<g data-cell="%s" data-tall="%d" transform="translate(%d %d)">`+"\n", r.name, tall, margin,
			top+i*tall)
		b.add(`<text y="12" font-weight="600">%s<title>%s</title></text><text x="%d" y="12" text-anchor="end">%s</text>`+
			"\n%s</g>\n", snipped(r.name, max(room, 60), letter), r.name, innerWidth, r.figure, r.drawn)
	}
	b.add(`<g data-below="" transform="translate(%d %d)" font-size="11">`+"\n%s</g>\n</svg>\n", margin, top+len(rows)*tall, below)
	return string(b.whole())
}

// first returns as many things as a figure has room for. If there are more, its description says so.
func first[T any](f *Drawing, all []T, most int) []T {
	if len(all) <= most {
		return all
	}
	f.Description += fmt.Sprintf(" The first %d are drawn, and %d are not.", most, len(all)-most)
	return all[:most]
}

// grid has the ticks of an axis as lines, from the name of a row to its end.
func (a Axis) grid(tall int) Markup {
	lines := Markup("")
	for _, tick := range a.Ticks {
		lines += mark("M%.1f %dv%d", a.At(tick), rowNames-3, tall-rowNames+3)
	}
	return mark(`<path d="%s" stroke="currentColor" opacity=".15"/>`+"\n", lines)
}

// labels are the texts of the ticks, to stand below the rows.
func (a Axis) labels(text func(tick float64) string) Markup {
	var b pieces
	b.put(`<g text-anchor="middle">`)
	for _, tick := range a.Ticks {
		b.add(`<text x="%.1f" y="13">%s</text>`, min(max(a.At(tick), 14), innerWidth-14), text(tick))
	}
	return b.whole() + "</g>\n"
}

// legendItem is a mark around the point 0,0, and what it means.
type legendItem struct {
	name string
	mark Markup
}

// drawLegend draws items one after another, in as many lines as they need.
func drawLegend(items []legendItem) (drawn Markup, height int) {
	const line, before, after, letter = 17, 26, 14, 6.1
	x, y := 0, 0
	var b pieces
	b.put(`<g font-size="11">`)
	for _, item := range items {
		width := before + after + int(letter*float64(utf8.RuneCountInString(item.name)))
		if x > 0 && x+width-after > innerWidth {
			x, y = 0, y+line
		}
		b.add(`<g transform="translate(%d %d)"><g transform="translate(11 0)">%s</g><text x="%d" y="4">%s</text></g>`, x, y,
			item.mark, before, term.Snip(item.name, innerWidth/6-6))
		x += width
	}
	return b.whole() + "</g>\n", y + line
}
