package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"gorun/internal/units"
)

const (
	MapCell  = 44  // units, at most
	mapCells = 64  // rows up to which each cell is an element of its own, which shows its figure under the pointer
	MapLimit = 256 // rows of the largest map
)

// Legend are the labels of the scale.
func (s HeatScale) Legend() []string {
	if !(s.Hi > s.Lo) {
		return []string{units.Digits(s.Lo)}
	}
	labels := make([]string, 0, len(Shades)+1)
	for level := range Shades {
		labels = append(labels, units.Digits(s.from(level)))
	}
	return append(labels, units.Digits(s.Hi))
}

// Labels is the room left of a map and above it, for the names of its rows and columns, and of groups.
func (h *Heat) Labels() int {
	if grouped(h.Rows) || grouped(h.Columns) {
		return 44
	}
	return 26
}

// lowRow is the height of the rows of a map that is not square.
const lowRow = 18

// DrawMap draws a heat map with its labels into so much width, and returns the width that it takes, and as much height.
// Of few CPUs the cells hold their figures, and of some they show them under the pointer; of many, neighbours of one shade are one
// stroke.
func DrawMap(h *Heat, scale HeatScale, width float64) (drawn string, height int) {
	labels := h.Labels()
	cell := min(MapCell, (width-float64(labels))/float64(len(h.Columns)))
	tall := cell
	if len(h.Rows) != len(h.Columns) {
		tall = lowRow
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<g transform="translate(%d %[1]d)">`+"\n", labels)
	fmt.Fprintf(&b, `<g transform="scale(%.4g %.4g)" fill="none" shape-rendering="crispEdges">`+"\n", cell, tall)
	if max(len(h.Rows), len(h.Columns)) <= mapCells {
		b.WriteString(svgCells(h, scale) + "</g>\n" + svgFigures(h, scale, cell, tall))
	} else {
		b.WriteString(svgStrokes(h, scale) + "</g>\n")
	}
	return b.String() + svgPlaces(h, cell, tall) + "</g>\n", labels + int(math.Ceil(tall*float64(len(h.Rows))))
}

// levels are the shades of the cells by index; -1 is not known.
func (h *Heat) levels(scale HeatScale) [][]int {
	levels := make([][]int, len(h.At))
	for i, row := range h.At {
		levels[i] = make([]int, len(row))
		for j, x := range row {
			if levels[i][j] = -1; !math.IsNaN(x) {
				levels[i][j] = scale.Level(x)
			}
		}
	}
	return levels
}

// svgCells has an element a cell, in units of a cell.
func svgCells(h *Heat, scale HeatScale) string {
	var shaded [len(Shades)]strings.Builder
	var unknown strings.Builder
	for i, row := range h.levels(scale) {
		for j, level := range row {
			between := html.EscapeString(h.between(i, j))
			switch {
			case level >= 0:
				fmt.Fprintf(&shaded[level], `<path d="M%d %d.5h1"><title>%s: %s %s</title></path>`+"\n", j, i, between,
					units.Tenths(h.At[i][j]), h.Unit)
			case !h.absent(i, j):
				fmt.Fprintf(&unknown, `<path d="M%d.4 %d.5h.2"><title>%s: not known</title></path>`+"\n", j, i, between)
			}
		}
	}
	var b strings.Builder
	for level, shade := range Shades {
		if shaded[level].Len() > 0 {
			fmt.Fprintf(&b, `<g stroke="%s">`+"\n%s</g>\n", shade.Web, shaded[level].String())
		}
	}
	if unknown.Len() > 0 {
		fmt.Fprintf(&b, `<g stroke="currentColor" stroke-width=".2">`+"\n%s</g>\n", unknown.String())
	}
	return b.String()
}

// svgFigures writes the figures into the cells where there is room for three digits, and two of them where it is tight.
func svgFigures(h *Heat, scale HeatScale, cell, tall float64) string {
	if cell < 22 {
		return ""
	}
	inked := map[string]*strings.Builder{"white": {}, "black": {}}
	for i, row := range h.levels(scale) {
		for j, level := range row {
			if level >= 0 {
				x := h.At[i][j]
				shown := units.Digits(x)
				if cell < 30 && x >= 1 {
					shown = strconv.FormatFloat(x, 'f', max(0, 2-len(strconv.FormatFloat(x, 'f', 0, 64))), 64)
				}
				if 6.4*float64(len(shown)) > cell {
					continue // the pointer and the table have it
				}
				fmt.Fprintf(inked[Shades[level].Ink], `<text x="%.4g" y="%.4g">%s</text>`, (float64(j)+.5)*cell,
					(float64(i)+.5)*tall+4, shown)
			}
		}
	}
	size := 10
	if cell >= 32 {
		size = 12
	}
	var b strings.Builder
	for _, ink := range []string{"white", "black"} {
		if inked[ink].Len() > 0 {
			fmt.Fprintf(&b, `<g font-size="%d" text-anchor="middle" fill="%s" pointer-events="none">%s</g>`+"\n", size, ink,
				inked[ink].String())
		}
	}
	return b.String()
}

// svgStrokes has one path a shade, in units of a cell, whose strokes run over neighbours of that shade: about nine
// bytes a stroke, so that 256 CPUs of noise stay far below 1 MB.
func svgStrokes(h *Heat, scale HeatScale) string {
	var paths [len(Shades)]strings.Builder
	for i, row := range h.levels(scale) {
		for j := 0; j < len(row); {
			from := j
			for j < len(row) && row[j] == row[from] {
				j++
			}
			if row[from] >= 0 {
				fmt.Fprintf(&paths[row[from]], "M%d %dh%d", from, i, j-from)
			}
		}
	}
	var b strings.Builder
	b.WriteString(`<g transform="translate(0 .5)">` + "\n")
	for level, shade := range Shades {
		if paths[level].Len() > 0 {
			fmt.Fprintf(&b, `<path stroke="%s" d="%s"/>`+"\n", shade.Web, paths[level].String())
		}
	}
	return b.String() + "</g>\n"
}

// svgPlaces writes the names of rows and columns, as many as there is room for, and draws where groups and their parts begin.
func svgPlaces(h *Heat, cell, tall float64) string {
	wide, high := float64(len(h.Columns))*cell, float64(len(h.Rows))*tall
	var names, groups strings.Builder
	var lines [2]strings.Builder // of parts, of groups
	// side draws what belongs to rows or to columns, with functions that write at a place along them.
	side := func(sides []Side, cell, room float64, name, group func(middle float64, text string), line func(kind int, at float64)) {
		every := int(math.Ceil(room / cell))
		for i, s := range sides {
			if i%every == 0 {
				name((float64(i)+.5)*cell, s.Name)
			}
			switch {
			case i == 0:
			case begins(sides, i):
				line(1, float64(i)*cell)
			case s.Part != sides[i-1].Part:
				line(0, float64(i)*cell)
			}
		}
		for i := 0; grouped(sides) && i < len(sides); {
			first := i
			for i++; i < len(sides) && !begins(sides, i); {
				i++
			}
			if text := sides[first].Group; float64(i-first)*cell >= float64(8*len(text)) { // else there is no room for a name
				group(float64(first+i)*cell/2, text)
			}
		}
	}
	letters := max(2, longestName(h.Rows), longestName(h.Columns))
	room := float64(6*letters + 3)
	side(h.Columns, cell, room, func(middle float64, text string) {
		fmt.Fprintf(&names, `<text x="%.4g" y="-5" text-anchor="middle">%s</text>`, middle, text)
	}, func(middle float64, text string) {
		fmt.Fprintf(&groups, `<text x="%.4g" y="-21" text-anchor="middle" font-weight="600">%s</text>`, middle, text)
	}, func(kind int, at float64) { fmt.Fprintf(&lines[kind], "M%.4g 0v%.4g", at, high) })
	if h.Pairs || len(h.Rows) == len(h.Columns) {
		room = max(room, tall) // rows and columns have the same names
	} else {
		room = tall
	}
	side(h.Rows, tall, room, func(middle float64, text string) {
		fmt.Fprintf(&names, `<text x="-5" y="%.4g" text-anchor="end">%s</text>`+"\n", middle+3.5, text)
	}, func(middle float64, text string) {
		fmt.Fprintf(&groups, `<text x="-27" y="%.4g" text-anchor="end" font-weight="600">%s</text>`+"\n", middle+4, text)
	}, func(kind int, at float64) { fmt.Fprintf(&lines[kind], "M0 %.4gh%.4g", at, wide) })
	b := `<g font-size="10">` + "\n" + names.String() + "</g>\n"
	for kind, style := range [...]string{`stroke-width=".7" opacity=".5"`, `stroke-width="1.8"`} {
		if lines[kind].Len() > 0 {
			b += fmt.Sprintf(`<path fill="none" pointer-events="none" stroke="currentColor" %s d="%s"/>`+"\n", style, lines[kind].String())
		}
	}
	return b + groups.String()
}
