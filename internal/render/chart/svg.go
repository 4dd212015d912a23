package chart

import (
	"fmt"
	"html"
	"math"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/result"
)

// What is drawn here is one <svg> element that stands alone as a file and inside an HTML page: no script, no font, and
// no identifier, so that a page can hold any number of them. It scales by its viewBox, takes the page's ink (--ink),
// and tells a screen reader what it shows by <title> and <desc> (SVG 2, 5.8). Viewers that know no custom properties
// take the colour of the attribute.

// openSVG begins an element of this size, and its heading. The ink follows the page, or the reader's light or dark
// scheme. A narrow one need not fill a large screen.
func openSVG(width, height int, title, about string) string {
	size := ""
	if width <= svgWidth {
		size = ` style="width:100%;min-width:0;max-width:640px"`
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="gorun-svg" role="img" viewBox="0 0 %d %d"`+
		` font-family="system-ui, sans-serif" font-size="12" color="#1f2328" fill="currentColor"%s>
<title>%s</title>
<desc>%s</desc>
<style>.gorun-svg{color:var(--ink,#1f2328);color-scheme:light dark}`+
		`@media screen and (prefers-color-scheme:dark){.gorun-svg{color:var(--ink,#e6edf3)}}</style>
<text x="%d" y="22" font-size="15" font-weight="600">%s</text>
`, width, height, size, html.EscapeString(title), html.EscapeString(about), Margin,
		Text(title, float64(width-2*Margin), svgLetter))
}

const (
	Margin     = 8
	svgLetter  = 8  // width of the heading's letters, at most as a rule
	svgHeading = 40 // height of the heading's line

	svgWidth = 424 // of the figures of one experiment: text of 10 to 12 units can be read on a screen of 400 px
	Inside   = svgWidth - 2*Margin
	svgNote  = 10 // height of the line below the heading, beyond the heading's
)

// Frame sets what is drawn, of so much height, below the heading and a note. The figure has its texts already.
func Frame(f Figure, note string, height int, drawn string) string {
	return openSVG(svgWidth, svgHeading+svgNote+height, f.Title, f.Description) +
		fmt.Sprintf(`<g font-size="11"><text x="%d" y="38" opacity=".8">%s</text><g transform="translate(0 %d)">`+
			"\n%s</g></g>\n</svg>\n", Margin, Text(note, Inside, 6.2), svgHeading+svgNote, drawn)
}

// Text is a text that takes no more than a width.
func Text(s string, width, letter float64) string {
	return html.EscapeString(term.Snip(s, int(width/letter)))
}

// CPUModel is the processor's name, for the note of a figure.
func CPUModel(host result.Host) string { return strings.Join(strings.Fields(host.CPUModel), " ") }

// Drawable tells whether a figure has a place on an axis: what a stranger's journal holds may be so far from
// everything that ratios overflow.
func Drawable(figures ...float64) bool {
	for _, x := range figures {
		if size := math.Abs(x); !(size <= 1e100) || size != 0 && size < 1e-100 {
			return false
		}
	}
	return true
}

// DrawScale is a legend of the shades: the labels stand where one begins, and the last one where the last ends. Of a
// single label there is one shade.
func DrawScale(labels []string, unit string, x, y int) string {
	const step = 36
	var b strings.Builder
	if unit != "" {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", x-8, y+9, Text(unit, 44, 6))
	}
	for i := range max(1, len(labels)-1) {
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="10" fill="%s"/>`, x+i*step, y, step, Shades[i].Web)
	}
	b.WriteString(`<g font-size="10" text-anchor="middle">`)
	longest := 0
	for _, label := range labels {
		longest = max(longest, len(label))
	}
	every := 1 + 6*longest/step
	for i, label := range labels {
		if i%every == 0 {
			fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`, x+i*step, y+22, label)
		}
	}
	return b.String() + "</g>\n"
}
