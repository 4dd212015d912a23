package render

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// What is drawn here is one <svg> element that stands alone as a file and inside an HTML page: no script, no font, no
// identifier that a page could have too. It scales by its viewBox, takes the page's ink, and tells a screen reader what
// it shows by <title> and <desc> (SVG 2, 5.8).

// openSVG begins an element of so many units, and its heading. The ink follows the reader's light or dark scheme.
func openSVG(width, height int, title, about string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="gorun-svg" role="img" viewBox="0 0 %d %d"`+
		` font-family="system-ui, sans-serif" font-size="12" fill="currentColor">
<title>%s</title>
<desc>%s</desc>
<style>.gorun-svg{color:#1f2328;color-scheme:light dark}`+
		`@media(prefers-color-scheme:dark){.gorun-svg{color:#e6edf3}}</style>
<text x="%d" y="22" font-size="15" font-weight="600">%s</text>
`, width, height, html.EscapeString(title), html.EscapeString(about), svgMargin,
		html.EscapeString(text.Snip(title, (width-2*svgMargin)/svgLetter, "…")))
}

const (
	svgMargin   = 16
	svgLetter   = 9  // width of the heading's letters, at most as a rule
	svgHeading  = 40 // height of the heading's line
	svgValues   = 24 // CPUs up to which cells hold their figures
	svgCells    = 64 // up to which each cell is an element of its own, that tells its figure under the pointer
	svgLimit    = 256
	svgLegend   = 56  // height of the scale below the map
	svgMapWidth = 768 // of a map without labels
)

// heatSVG draws a heat map as an <svg> element. Of few CPUs the cells hold their figures, and of some they tell them
// under the pointer; of many, neighbours of one shade are one stroke; of more than svgLimit, neighbours are joined.
func heatSVG(h *heat, title, about string) string {
	scale, ok := h.scale()
	if !ok {
		return ""
	}
	if len(h.seat) > svgLimit {
		var size int
		h, size = h.coarse(func(joined *heat) bool { return len(joined.seat) <= svgLimit })
		about += fmt.Sprintf(" A row and a column are up to %d neighbouring CPUs; a cell is the mean of their pairs.", size)
	}
	n := len(h.seat)
	cell := 18
	switch {
	case n <= svgValues:
		cell = 40
	case n > svgCells:
		cell = max(2, svgMapWidth/n)
	}
	left, top := svgMargin+48, svgHeading+36
	side := n * cell
	width := max(left+side+svgMargin, 520)

	var b strings.Builder
	b.WriteString(openSVG(width, top+side+svgLegend, title, about))
	fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", left, top)
	if n <= svgCells {
		b.WriteString(svgFewCells(h, scale, cell))
	} else {
		b.WriteString(svgManyCells(h, scale, cell))
	}
	b.WriteString(svgPlaces(h, cell))
	b.WriteString("</g>\n")
	b.WriteString(svgScale(h.unit, scale, left, top+side+20))
	b.WriteString("</svg>\n")
	return b.String()
}

// svgFewCells has an element a cell.
func svgFewCells(h *heat, scale heatScale, cell int) string {
	var b strings.Builder
	for i, row := range h.at {
		for j, x := range row {
			if math.IsNaN(x) {
				if i != j {
					fmt.Fprintf(&b, `<circle cx="%d" cy="%d" r="1.5" opacity=".6"><title>%s – %s: not known</title></circle>`+"\n",
						j*cell+cell/2, i*cell+cell/2, h.name(i), h.name(j))
				}
				continue
			}
			shade := shades[scale.level(x)]
			fmt.Fprintf(&b, `<g><title>%s – %s: %s %s</title><rect x="%d" y="%d" width="%d" height="%[7]d" fill="%s"/>`,
				h.name(i), h.name(j), tenths(x), h.unit, j*cell, i*cell, cell, shade.web)
			if len(h.seat) <= svgValues {
				fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle" fill="%s">%s</text>`,
					j*cell+cell/2, i*cell+cell/2+4, shade.ink, digits(x))
			}
			b.WriteString("</g>\n")
		}
	}
	return b.String()
}

// svgManyCells has one path a shade, whose strokes are as thick as a cell and run over neighbours of that shade: about
// nine bytes a stroke, so that 256 CPUs of noise stay far below 1 MB.
func svgManyCells(h *heat, scale heatScale, cell int) string {
	level := func(i, j int) int {
		if math.IsNaN(h.at[i][j]) {
			return -1
		}
		return scale.level(h.at[i][j])
	}
	var paths [len(shades)]strings.Builder
	for i := range h.at {
		for j := 0; j < len(h.at); {
			from, at := j, level(i, j)
			for j < len(h.at) && level(i, j) == at {
				j++
			}
			if at >= 0 {
				fmt.Fprintf(&paths[at], "M%d %dh%d", from, i, j-from)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<g transform="scale(%d) translate(0 .5)" fill="none" shape-rendering="crispEdges">`+"\n", cell)
	for at, shade := range shades {
		if paths[at].Len() > 0 {
			fmt.Fprintf(&b, `<path stroke="%s" d="%s"/>`+"\n", shade.web, paths[at].String())
		}
	}
	return b.String() + "</g>\n"
}

// svgPlaces writes the numbers of the CPUs where there is room, and where nodes and caches begin.
func svgPlaces(h *heat, cell int) string {
	var b strings.Builder
	n := len(h.seat)
	side := n * cell
	if n <= svgCells {
		b.WriteString(`<g font-size="10">` + "\n")
		for i := range h.seat {
			middle := i*cell + cell/2
			fmt.Fprintf(&b, `<text x="-5" y="%d" text-anchor="end">%s</text>`+
				`<text x="%d" y="-5" text-anchor="middle">%[2]s</text>`+"\n", middle+4, h.name(i), middle)
		}
		b.WriteString("</g>\n")
	}
	var lines [2]strings.Builder // of caches, of nodes
	for i := 1; i < n; i++ {
		kind := 0
		switch {
		case h.nodeBegins(i):
			kind = 1
		case h.seat[i].llc == h.seat[i-1].llc:
			continue
		}
		fmt.Fprintf(&lines[kind], "M%d 0v%dM0 %[1]dh%[2]d", i*cell, side)
	}
	for kind, style := range [...]string{`stroke-width=".7" opacity=".5"`, `stroke-width="1.8"`} {
		if lines[kind].Len() > 0 {
			fmt.Fprintf(&b, `<path fill="none" stroke="currentColor" %s d="%s"/>`+"\n", style, lines[kind].String())
		}
	}
	if !h.nodes() {
		return b.String()
	}
	for i := 0; i < n; {
		first := i
		for i++; i < n && !h.nodeBegins(i); {
			i++
		}
		if (i-first)*cell < 14 {
			continue // no room for a name
		}
		middle := (first + i) * cell / 2
		fmt.Fprintf(&b, `<text x="%d" y="-21" text-anchor="middle" font-weight="600">N%d</text>`+
			`<text x="-28" y="%d" text-anchor="end" font-weight="600">N%[2]d</text>`+"\n", middle, h.seat[first].node, middle+4)
	}
	return b.String()
}

// svgScale is the legend: the figure from which on each shade stands.
func svgScale(unit string, scale heatScale, x, y int) string {
	const step = 42
	var b strings.Builder
	for level, shade := range shades {
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="10" fill="%s"/>`+
			`<text x="%[1]d" y="%[5]d" font-size="10">%s</text>`+"\n", x+level*step, y, step, shade.web, y+21,
			digits(scale.from(level)))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="10">%s %s</text>`+"\n", x+len(shades)*step+4, y+21, digits(scale.hi),
		html.EscapeString(unit))
	return b.String()
}

// curve is a line of a chart.
type curve struct {
	name   string
	points [][2]float64 // x ascending
}

// curveColours are those of Okabe and Ito ("Color Universal Design", 2008), the black and the yellow left out, which
// vanish on one ground or the other. Further curves take them again, dashed.
var curveColours = [...]string{"#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"}

var curveDashes = [...]string{"", "7 3", "2 3", "9 3 2 3"}

func curveStyle(i int) string {
	style := `stroke="` + curveColours[i%len(curveColours)] + `" stroke-width="2"`
	if dash := curveDashes[i/len(curveColours)%len(curveDashes)]; dash != "" {
		style += ` stroke-dasharray="` + dash + `"`
	}
	return style
}

// panel is a chart of curves over the same x.
type panel struct {
	title  string
	curves []curve
}

const (
	panelLeft   = 64
	panelWidth  = 520
	panelHeight = 220
	panelGap    = 64
	curveLegend = 190 // width of the names
)

// abscissa is what the x of a chart is.
type abscissa struct {
	title string
	axis  func(lo, hi, length float64) axis
	text  func(x float64) string
}

var (
	byCPUs  = abscissa{"CPUs", whole, exact}
	byBytes = abscissa{"buffer", doublings, func(x float64) string { return size(uint64(x)) }}
)

// chartSVG draws panels under each other as an <svg> element, with one legend.
func chartSVG(panels []panel, by abscissa, title, about string) string {
	names := panels[0].curves
	tall := max(len(panels)*(panelHeight+panelGap), len(names)*18+24)
	var b strings.Builder
	b.WriteString(openSVG(panelLeft+panelWidth+curveLegend, svgHeading+tall, title, about))
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", panelLeft, svgHeading+24+i*(panelHeight+panelGap))
		b.WriteString(svgPanel(p, by) + "</g>\n")
	}
	for i, c := range names {
		x, y := panelLeft+panelWidth+20, svgHeading+30+18*i
		fmt.Fprintf(&b, `<path d="M%d %dh24" fill="none" %s/><text x="%d" y="%d">%s</text>`+"\n", x, y, curveStyle(i), x+30,
			y+4, html.EscapeString(c.name))
	}
	return b.String() + "</svg>\n"
}

// svgPanel draws the axes and the curves.
func svgPanel(p panel, by abscissa) string {
	var xs, ys []float64
	for _, c := range p.curves {
		for _, point := range c.points {
			xs, ys = append(xs, point[0]), append(ys, point[1])
		}
	}
	xAxis, yAxis := by.axis(slices.Min(xs), slices.Max(xs), panelWidth), axisOf(ys, panelHeight)
	var b strings.Builder
	fmt.Fprintf(&b, `<text y="-10" font-weight="600">%s</text>`+"\n", html.EscapeString(p.title))
	for _, tick := range yAxis.ticks {
		y := panelHeight - yAxis.at(tick)
		fmt.Fprintf(&b, `<path d="M0 %.1fh%d" stroke="currentColor" opacity=".15"/><text x="-8" y="%.1f" text-anchor="end"`+
			` font-size="11">%s</text>`+"\n", y, panelWidth, y+4, tickText(tick))
	}
	for _, tick := range xAxis.ticks {
		x := xAxis.at(tick)
		fmt.Fprintf(&b, `<path d="M%.1f %dv4" stroke="currentColor"/><text x="%.1f" y="%d" text-anchor="middle"`+
			` font-size="11">%s</text>`+"\n", x, panelHeight, x, panelHeight+17, by.text(tick))
	}
	fmt.Fprintf(&b, `<path d="M0 %dh%d" stroke="currentColor"/>`+
		`<text x="%[2]d" y="%d" text-anchor="end" font-size="11">%s</text>`+"\n", panelHeight, panelWidth,
		panelHeight+32, html.EscapeString(by.title))
	for i, c := range p.curves {
		var path, dots strings.Builder
		for n, point := range c.points {
			x, y := xAxis.at(point[0]), panelHeight-yAxis.at(point[1])
			command := "L"
			if n == 0 {
				command = "M"
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", command, x, y)
			fmt.Fprintf(&dots, `<circle cx="%.1f" cy="%.1f" r="3.5"><title>%s, %s %s: %s</title></circle>`, x, y,
				html.EscapeString(c.name), by.text(point[0]), html.EscapeString(by.title), digits(point[1]))
		}
		fmt.Fprintf(&b, `<path d="%s" fill="none" %s/><g fill="%s">%s</g>`+"\n", path.String(), curveStyle(i),
			curveColours[i%len(curveColours)], dots.String())
	}
	return b.String()
}

// axis lays figures along a length.
type axis struct {
	at    func(x float64) float64
	ticks []float64
}

// axisOf begins at 0, unless the figures lie so far apart that the least could not be told from it: then it goes by
// equal ratios, from one decade to another.
func axisOf(figures []float64, length float64) axis {
	lo, hi := slices.Min(figures), slices.Max(figures)
	if lo <= 0 || hi < 50*lo {
		return linear(min(0, lo), hi, length)
	}
	first, last := math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi))
	a := axis{at: func(x float64) float64 { return (math.Log10(x) - first) / (last - first) * length }}
	for decade := first; decade <= last; decade++ {
		a.ticks = append(a.ticks, math.Pow(10, decade))
	}
	return a
}

// linear has ticks at round numbers: 1, 2 or 5 times a power of ten apart, at most nine.
func linear(lo, hi, length float64) axis {
	if !(hi > lo) {
		hi = lo + 1
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/8)))
	for _, times := range [...]float64{1, 2, 5, 10} {
		if (hi-lo)/(step*times) <= 8 {
			step *= times
			break
		}
	}
	a := axis{at: func(x float64) float64 { return (x - lo) / (hi - lo) * length }}
	for i := range 10 {
		if tick := (math.Ceil(lo/step) + float64(i)) * step; tick <= hi {
			a.ticks = append(a.ticks, tick)
		}
	}
	return a
}

// whole is linear, for what counts things.
func whole(lo, hi, length float64) axis {
	a := linear(lo, hi, length)
	a.ticks = slices.DeleteFunc(a.ticks, func(tick float64) bool { return tick != math.Trunc(tick) })
	return a
}

// doublings goes by equal ratios, and has ticks at powers of two, at most ten.
func doublings(lo, hi, length float64) axis {
	first, last := math.Floor(math.Log2(lo)), math.Ceil(math.Log2(hi))
	a := axis{at: func(x float64) float64 { return (math.Log2(x) - first) / (last - first) * length }}
	for power := first; power <= last; power += math.Ceil((last - first) / 9) {
		a.ticks = append(a.ticks, math.Exp2(power))
	}
	return a
}

func tickText(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
