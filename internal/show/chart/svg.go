package chart

import (
	"math"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/term"
)

// What is drawn here is one <svg> element that stands alone as a file and inside an HTML page: no script, no font, and
// no identifier, so that a page can hold any number of them. It scales by its viewBox, takes the page's ink (--ink),
// and tells a screen reader what it shows by <title> and <desc> (SVG 2, 5.8). Viewers that know no custom properties
// take the colour of the attribute.

// svgInks are the colours of marks by class: those of Okabe and Ito for kinds of samples, and a colour for each tone of a verdict
// (table.Tone). A page may set its own by the properties. Where a program knows none, the declaration before stands (CSS Custom
// Properties, 3). All have a contrast of 3 to a white and to a black ground.
var svgInks = svgInk("a", "--gorun-a", "#0072b2") + svgInk("b", "--gorun-b", "#e69f00") + svgInk("c", "--gorun-c", "#d55e00") +
	svgInk(string(table.Good), "--good", "#1a7f37") + svgInk(string(table.Bad), "--bad", "#cf222e") +
	svgInk(string(table.Doubt), "--doubt", "#9a6700") + svgInk(string(table.Faint), "--faint", "#6e7781") +
	"<style>.gorun-svg .hollow{fill:none}</style>\n"

func svgInk(class, property, colour string) Markup {
	return mark(`<style>.gorun-svg .%[1]s{fill:%[3]s;stroke:%[3]s;fill:var(%[2]s,%[3]s);stroke:var(%[2]s,%[3]s)}</style>`,
		class, property, colour)
}

// openSVG begins the element of a figure, and its heading. The ink follows the page, or the reader's light or dark
// scheme. It need not fill a large screen.
func openSVG(height int, f Drawing) Markup {
	return mark(`<svg xmlns="http://www.w3.org/2000/svg" class="gorun-svg" role="img" viewBox="0 0 %d %d"`+
		` font-family="system-ui, sans-serif" font-size="12" color="#1f2328" fill="currentColor" style="width:100%%;max-width:640px">
<title>%s</title>
<desc>%s</desc>
<style>.gorun-svg{color:var(--ink,#1f2328);color-scheme:light dark}`+
		`@media screen and (prefers-color-scheme:dark){.gorun-svg{color:var(--ink,#e6edf3)}}</style>
<text x="%d" y="22" font-size="15" font-weight="600">%s</text>
`, svgWidth, height, f.Title, f.Description, margin, snipped(f.Title, innerWidth, svgLetter))
}

const (
	margin     = 8
	svgLetter  = 8  // width of the heading's letters, at most as a rule
	svgHeading = 40 // height of the heading's line

	svgWidth   = 424 // of the figures of one experiment: text of 10 to 12 units can be read on a screen of 400 px
	innerWidth = svgWidth - 2*margin
	svgNote    = 10 // height of the line below the heading, beyond the heading's
)

// Frame sets what is drawn, of so much height, below the heading and a note. The figure has its texts already.
func Frame(f Drawing, note string, height int, drawn Markup) string {
	return string(openSVG(svgHeading+svgNote+height, f) +
		mark(`<g font-size="11"><text x="%d" y="38" opacity=".8">%s</text><g transform="translate(0 %d)">`+
			"\n%s</g></g>\n</svg>\n", margin, snipped(note, innerWidth, 6.2), svgHeading+svgNote, drawn))
}

// snipped is a text that takes no more than a width.
func snipped(s string, width, letter float64) string {
	return term.Snip(s, int(width/letter))
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

// drawScale is a legend of the shades: a figure stands where one begins, and the last one where the last ends. Of a
// single figure there is one shade. Of ratios, words say what the ends are.
func drawScale(s heatScale, unit string, x, y int) Markup {
	const step = 36
	shades := len(s.shades())
	if !(s.hi > s.lo) {
		shades = 0
	}
	labels := make([]string, shades+1)
	longest := 0
	for level := range labels {
		if labels[level] = units.Digits(s.from(level)); s.ratios {
			labels[level] = ""
		}
		longest = max(longest, len(labels[level]))
	}
	var b pieces
	b.add(`<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", x-8, y+9, snipped(unit, 44, 6))
	for i := range max(1, shades) {
		b.add(`<rect x="%d" y="%d" width="%d" height="10" fill="%s"/>`, x+i*step, y, step, s.shades()[i].Web)
	}
	if s.ratios {
		b.add(`<path fill="none" stroke="currentColor" stroke-width=".5" opacity=".5" d="M%d %dh%dv10h-%[3]dz"/>`+
			`<g font-size="10"><text x="%[1]d" y="%[4]d">faster by 20%% or more</text><text x="%[5]d" y="%[4]d" text-anchor="middle">equal</text>`+
			`<text x="%[6]d" y="%[4]d" text-anchor="end">slower by 25%% or more</text></g>`, x, y, shades*step, y+22, x+shades*step/2, x+shades*step)
	}
	b.put(`<g font-size="10" text-anchor="middle">`)
	every := 1 + 6*longest/step
	for i, label := range labels {
		if i%every == 0 {
			b.add(`<text x="%d" y="%d">%s</text>`, x+i*step, y+22, label)
		}
	}
	return b.whole() + "</g>\n"
}
