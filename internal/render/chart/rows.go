package chart

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"gorun/internal/render/term"
)

// A figure may have a row for each cell. The script of a page hides rows by data-cell, the name of the row's cell, and moves
// the rows below them, and what is marked by data-below, up by data-tall.

// rowOf opens a row. All rows of a figure, and what is below them, are siblings that are moved by y alone.
func rowOf(name string, x, y, tall int) string {
	return fmt.Sprintf(`<g data-cell="%s" data-tall="%d" transform="translate(%d %d)">`+"\n", html.EscapeString(name), tall, x, y)
}

// belowRows opens what is below the rows.
func belowRows(x, y int) string {
	return fmt.Sprintf(`<g data-below="" transform="translate(%d %d)">`+"\n", x, y)
}

// rowHeading writes a row's name from x on, and a figure that ends at right. The name gives way.
func rowHeading(name string, x, right int, figure string) string {
	const letter = 6.8
	room := float64(right-x) - letter*float64(utf8.RuneCountInString(figure)) - 10
	return fmt.Sprintf(`<text x="%d" y="12" font-weight="600">%s<title>%s</title></text>`+
		`<text x="%d" y="12" text-anchor="end">%s</text>`+"\n", x, html.EscapeString(term.Snip(name, int(max(room, 60)/letter))),
		html.EscapeString(name), right, html.EscapeString(figure))
}

// legendItem is a mark around the point 0,0, and what it means.
type legendItem struct{ name, mark string }

// drawLegendItems draws items one after another, in as many lines as they need.
func drawLegendItems(items []legendItem) (drawn string, height int) {
	const line, before, after, letter = 17, 26, 14, 5.8
	x, y := 0, 0
	var b strings.Builder
	b.WriteString(`<g font-size="11">`)
	for _, item := range items {
		width := before + after + int(letter*float64(utf8.RuneCountInString(item.name)))
		if x > 0 && x+width-after > Inside {
			x, y = 0, y+line
		}
		fmt.Fprintf(&b, `<g transform="translate(%d %d)"><g transform="translate(11 0)">%s</g><text x="%d" y="4">%s</text></g>`, x, y,
			item.mark, before, html.EscapeString(term.Snip(item.name, Inside/6-6)))
		x += width
	}
	return b.String() + "</g>\n", y + line
}
