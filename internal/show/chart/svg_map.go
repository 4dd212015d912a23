package chart

import (
	"math"
	"slices"
	"strconv"

	"gorun/internal/base/units"
	"gorun/internal/show/term"
)

const (
	mapCell  = 44  // units, at most
	mapCells = 64  // rows up to which each cell is an element of its own
	MapLimit = 256 // rows of the largest map
	lowRow   = 18  // height of the rows of a map that is not square
	mapName  = 24  // letters of a name at a side, at most, so that there is room for cells
)

// DrawMaps draws heat maps with one scale, as many beside each other as there is room for, and returns the height. False if no figure
// is known, or one has no place on a scale.
func DrawMaps(maps ...*Heat) (drawn Markup, height int, ok bool) {
	maps = slices.DeleteFunc(maps, func(h *Heat) bool { return len(h.Columns) == 0 })
	scale, ok := scaleOf(maps...)
	if !ok || !Drawable(scale.lo, scale.hi) {
		return "", 0, false
	}
	const gap = 16
	for i, h := range maps {
		short := *h
		short.Rows, short.Columns = shortNames(h.Rows), shortNames(h.Columns)
		maps[i] = &short
	}
	labels, columns, groups := 26, 0, 0 // labels: the room for the names of rows and columns, and of groups
	slanted := 0                        // the room for names of columns, up and to the right
	for _, h := range maps {
		labels, columns = max(labels, 6*nameRoom(h.Rows)+8), max(columns, len(h.Columns))
		if h.Slanted {
			slanted = max(slanted, int(6*math.Sqrt2/2*float64(nameRoom(h.Columns))))
		}
		if grouped(h.Rows) || grouped(h.Columns) {
			groups = 18
		}
	}
	labels += groups
	cell := min(mapCell, float64(innerWidth-labels-slanted)/float64(columns))
	width := labels + int(cell*float64(columns))
	across := max(1, (innerWidth+gap)/(width+gap))
	var b pieces
	y, tallest := 0, 0
	for i, h := range maps {
		if i%across == 0 {
			y, tallest = y+tallest, 0
		}
		x, top := margin+i%across*(width+gap), y+slanted-min(slanted, labels)/2
		if h.Title != "" {
			b.add(`<text x="%d" y="%d" font-weight="600">%s</text>`+"\n", x+labels, y+12, snipped(h.Title, float64(width-labels), 6.2))
			top += 18
		}
		drawn, tall := drawMap(h, scale, cell)
		b.add(`<g transform="translate(%d %d)">`+"\n%s</g>\n", x+labels, top+labels, drawn)
		tallest = max(tallest, top-y+labels+tall+gap)
	}
	y += tallest
	return b.whole() + drawScale(scale, maps[0].Unit, margin+labels, y), y + 34, true
}

// nameRoom is the number of letters for which there is room at a side. Of some letters, many take no room (Unicode, combining marks).
func nameRoom(sides []Side) int { return min(longestName(sides), mapName) }

func shortNames(sides []Side) []Side {
	short := slices.Clone(sides)
	for i := range short {
		short[i].Name = term.Snip(short[i].Name, mapName)
	}
	return short
}

// drawMap draws a heat map, with its labels left of the origin and above it, and returns its height.
func drawMap(h *Heat, scale heatScale, cell float64) (drawn Markup, height int) {
	tall := cell
	if len(h.Rows) != len(h.Columns) {
		tall = lowRow
	}
	wide, high := float64(len(h.Columns))*cell, float64(len(h.Rows))*tall
	letters := max(2, nameRoom(h.Rows), nameRoom(h.Columns))
	name, room := Markup(`<text x="%.4g" y="-5" text-anchor="middle">%s</text>`), float64(6*letters+3)
	if h.Slanted {
		name, room = `<text transform="translate(%.4g -5) rotate(-45)">%s</text>`, 14
	}
	columns := svgSide(h.Columns, cell, room, name,
		`<text x="%.4g" y="-21" text-anchor="middle" font-weight="600">%s</text>`, "M%.4g 0v"+mark("%.4g", high))
	rows := svgSide(h.Rows, tall, 12, `<text x="-5" y="%.4g" dy="3.5" text-anchor="end">%s</text>`,
		`<text x="-27" y="%.4g" dy="4" text-anchor="end" font-weight="600">%s</text>`, "M0 %.4gh"+mark("%.4g", wide))
	return svgCells(h, scale, cell, tall) + `<g font-size="10">` + columns + rows + "</g>\n", int(math.Ceil(high))
}

// svgCells draws the cells of a map. Of few, each shows its figure under the pointer, and in the cell if there is room. Of many, neighbours
// of one shade are one stroke, which takes about nine bytes, so that 256 CPUs of noise stay far below 1 MB.
func svgCells(h *Heat, scale heatScale, cell, tall float64) Markup {
	each := cell >= 3 && len(h.Rows)*len(h.Columns) <= mapCells*mapCells
	shaded := make([]pieces, len(scale.shades()))
	var unknown, figures pieces
	for i, row := range h.At {
		for j := 0; j < len(row); {
			from, level := j, scale.level(row[j])
			for j++; !each && j < len(row) && scale.level(row[j]) == level; {
				j++
			}
			switch about := h.between(i, from); {
			case level < 0 && each && !h.absent(i, from):
				unknown.add(`<path d="M%d.4 %d.5h.2"><title>%s: not known</title></path>`+"\n", from, i, about)
			case level < 0:
			case each:
				shown, meaning := inCell(row[from], cell), units.Tenths(row[from])+" "+h.Unit
				if h.Ratios {
					shown, meaning = h.Words(i, from)
				}
				shaded[level].add(`<path d="M%d %d.5h1"><title>%s: %s</title></path>`+"\n", from, i, about, meaning)
				if shown != "" && fits(shown, cell) {
					figures.add(`<text x="%.4g" y="%.4g" fill="%s">%s</text>`, (float64(from)+.5)*cell, (float64(i)+.5)*tall+4,
						scale.shades()[level].Ink, shown)
				}
			default:
				shaded[level].add("M%d %d.5h%d", from, i, j-from)
			}
		}
	}
	b := mark(`<g transform="scale(%.4g %.4g)" fill="none" shape-rendering="crispEdges">`+"\n", cell, tall)
	for level, shade := range scale.shades() {
		switch strokes := shaded[level].whole(); {
		case strokes == "":
		case each:
			b += mark(`<g stroke="%s">`+"\n%s</g>\n", shade.Web, strokes)
		default:
			b += mark(`<path stroke="%s" d="%s"/>`+"\n", shade.Web, strokes)
		}
	}
	return b + mark(`<g stroke="currentColor" stroke-width=".2">%s</g></g>`+"\n"+
		`<g text-anchor="middle" pointer-events="none">%s</g>`+"\n", unknown.whole(), figures.whole())
}

// inCell returns a figure as there is room for it in a cell; "": there is none, and the pointer and the table have it.
func inCell(x, cell float64) string {
	for _, shown := range []string{units.Digits(x), strconv.FormatFloat(x, 'f', 0, 64)} {
		if fits(shown, cell) {
			return shown
		}
		if x < 1 {
			break
		}
	}
	return ""
}

func fits(shown string, cell float64) bool { return cell >= 22 && 6.4*float64(len(shown)) <= cell }

// svgSide draws what belongs to the rows of a map, or to its columns: their names, as many as there is room for, those of groups, and
// lines where groups and their parts begin. Each has a format of its own, with the place along the side.
func svgSide(sides []Side, cell, room float64, name, group, line Markup) Markup {
	every := int(math.Ceil(room / cell))
	var b, parts, groups pieces
	begin := 0
	for i, s := range sides {
		at := float64(i) * cell
		if i%every == 0 {
			b.add(name, at+cell/2, s.Name)
		}
		switch {
		case i == 0:
		case begins(sides, i):
			groups.add(line, at)
		case s.Part != sides[i-1].Part:
			parts.add(line, at)
		}
		if i+1 == len(sides) || begins(sides, i+1) {
			if wide := float64(i+1-begin) * cell; grouped(sides) && wide >= float64(8*len(s.Group)) { // else there is no room
				b.add(group, float64(begin)*cell+wide/2, s.Group)
			}
			begin = i + 1
		}
	}
	return mark(`%s<path fill="none" pointer-events="none" stroke="currentColor" stroke-width=".7" opacity=".5" d="%s"/>`+
		`<path fill="none" pointer-events="none" stroke="currentColor" stroke-width="1.8" d="%s"/>`+"\n", b.whole(), parts.whole(),
		groups.whole())
}
