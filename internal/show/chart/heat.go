package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gorun/internal/base/units"
	"gorun/internal/show/term"
)

// Heat is the data of a heat map. The terminal and SVG draw from it.
type Heat struct {
	Title         string // "": the figure's says it
	Unit          string
	Rows, Columns []Side
	At            [][]float64 // by row and column; NaN: not known
	Pairs         bool        // rows and columns are the same things: one by itself has no figure
	Slanted       bool        // the names of the columns are words, which are wider than the cells
	// Label says whose figure a cell is; nil: the names of its row and its column.
	Label func(i, j int) string
	// Ratios: the figures are ratios of times, and the scale is around 1, with an end on each side. Words then say what a cell shows, and
	// what it means.
	Ratios bool
	Words  func(i, j int) (cell, meaning string)
}

// Side is a row or a column of a heat map. Those of a group are next to each other, and so are those of a part of it.
type Side struct {
	Name  string
	Group string // "": all are in one
	Part  int
}

// between says whose figure a cell is.
func (h *Heat) between(i, j int) string {
	if h.Label != nil {
		return h.Label(i, j)
	}
	return h.Rows[i].Name + " – " + h.Columns[j].Name
}

// absent reports whether a cell has no figure by its nature.
func (h *Heat) absent(i, j int) bool { return h.Pairs && i == j }

// shade is a colour of the scale.
type shade struct {
	xterm int    // of the 256 colours of terminals
	Web   string // as CSS has it
	Ink   string // of text on it: "white", "black", "currentColor"
}

// Shades go from the least figure to the greatest along viridis (van der Walt and Smith, matplotlib 2.0): its lightness
// only rises, so that it can be told without seeing colours. The terminal's are the nearest that keep this.
var Shades = [...]shade{
	{53, "#440154", "white"},
	{55, "#482878", "white"},
	{25, "#3e4989", "white"},
	{30, "#31688e", "white"},
	{36, "#26828e", "black"},
	{71, "#1f9e89", "black"},
	{77, "#35b779", "black"},
	{148, "#6ece58", "black"},
	{184, "#b5de2b", "black"},
	{226, "#fde725", "black"},
}

// ratioShades go from faster to slower, blue and orange of Okabe and Ito, which all readers can tell apart. The page shows through: what
// is like the others is not coloured, on a light and on a dark page.
var ratioShades = [...]shade{
	{Web: ratioWeb(faster, 1), Ink: "black"},
	{Web: ratioWeb(faster, .7), Ink: "black"},
	{Web: ratioWeb(faster, .4), Ink: "currentColor"},
	{Web: ratioWeb(faster, .2), Ink: "currentColor"},
	{Web: ratioWeb(slower, 0), Ink: "currentColor"},
	{Web: ratioWeb(slower, .2), Ink: "currentColor"},
	{Web: ratioWeb(slower, .4), Ink: "currentColor"},
	{Web: ratioWeb(slower, .7), Ink: "black"},
	{Web: ratioWeb(slower, 1), Ink: "black"},
}

const (
	faster = "86,180,233"
	slower = "230,159,0"
	// mostRatio is where the scale of ratios ends: it is the same in all pictures, and the middle shade has differences up to 2.5%.
	mostRatio = 1.25
)

func ratioWeb(rgb string, opacity float64) string { return fmt.Sprintf("rgba(%s,%.1g)", rgb, opacity) }

// Terminal is the shade as a background, with its ink.
func (s shade) Terminal() term.Colour {
	ink := 231
	if s.Ink == "black" {
		ink = 16
	}
	return term.Colour(fmt.Sprintf("38;5;%d;48;5;%d", ink, s.xterm))
}

// heatScale gives figures their shades, by equal ratios: between the threads of a core and those of two nodes there are
// powers of ten. From 0 on, it goes by equal differences.
type heatScale struct {
	lo, hi float64
	ratios bool // around 1
}

func (s heatScale) shades() []shade {
	if s.ratios {
		return ratioShades[:]
	}
	return Shades[:]
}

// scaleOf is the range of all figures of some maps; false where there is none.
func scaleOf(maps ...*Heat) (s heatScale, ok bool) {
	s = heatScale{lo: math.Inf(1), hi: math.Inf(-1)}
	for _, h := range maps {
		for _, x := range slices.Concat(h.At...) {
			if !math.IsNaN(x) {
				s.lo, s.hi = min(s.lo, x), max(s.hi, x)
			}
		}
	}
	if ok = s.lo <= s.hi; ok && maps[0].Ratios {
		s = heatScale{1 / mostRatio, mostRatio, true}
	}
	return s, ok
}

// level is the index of a figure's shade; -1 if it is not known.
func (s heatScale) level(x float64) int {
	switch place := (x - s.lo) / (s.hi - s.lo); {
	case math.IsNaN(x):
		return -1
	case !(s.hi > s.lo):
		return 0
	default:
		if s.lo > 0 {
			place = math.Log(x/s.lo) / math.Log(s.hi/s.lo)
		}
		return max(0, min(len(s.shades())-1, int(max(0, min(1, place))*float64(len(s.shades())))))
	}
}

// from is the least figure of a level.
func (s heatScale) from(level int) float64 {
	part := float64(level) / float64(len(s.shades()))
	if s.lo <= 0 {
		return s.lo + part*(s.hi-s.lo)
	}
	return s.lo * math.Pow(s.hi/s.lo, part)
}

// HeatText draws a heat map in opts.Width columns, below its title: the figures themselves where they fit, with at most three digits of
// the greatest, else the class of each, a digit. It returns "" where those do not fit either.
func HeatText(h *Heat, title string, opts term.Options) string {
	scale, ok := scaleOf(h)
	if !ok {
		return ""
	}
	most := 0
	for bound := 99.95; most < 3 && scale.hi < bound; bound /= 10 {
		most++
	}
	for decimals := most; decimals >= 0; decimals-- {
		show := func(x float64) string { return strconv.FormatFloat(x, 'f', decimals, 64) }
		if cell := 1 + max(len(show(scale.hi)), longestName(h.Columns)); h.width(cell) <= opts.Columns() {
			return term.Title(title+", in "+h.Unit, opts) + h.draw(cell, scale, show, opts)
		}
	}
	digit := func(x float64) string { return strconv.Itoa(scale.level(x)) }
	for cell := 2; cell >= 1; cell-- {
		if h.width(cell) <= opts.Columns() {
			return term.Title(title+": time class 0–9 (key below)", opts) + h.draw(cell, scale, digit, opts) + scaleLine(h.Unit, scale, opts)
		}
	}
	return ""
}

// scaleLine is the legend of digits: the figure from which on each stands.
func scaleLine(unit string, scale heatScale, opts term.Options) string {
	parts := []string{unit + ", from:"}
	for level, shade := range Shades {
		parts = append(parts, opts.Paint(shade.Terminal(), strconv.Itoa(level))+" "+units.Digits(scale.from(level)))
	}
	return "  " + term.Flow(append(parts, "to "+units.Digits(scale.hi)), "  ", "    ", opts.Columns()-2)
}

func longestName(sides []Side) (longest int) {
	for _, s := range sides {
		longest = max(longest, utf8.RuneCountInString(s.Name))
	}
	return longest
}

// grouped reports whether there are several groups.
func grouped(sides []Side) bool {
	return len(sides) > 0 && sides[0].Group != sides[len(sides)-1].Group
}

// begins reports whether a group begins with this one.
func begins(sides []Side, i int) bool { return i == 0 || sides[i].Group != sides[i-1].Group }

// label returns the text before a row: its name and, before the first of a group, the group's.
func (h *Heat) label(i int) string {
	name := fmt.Sprintf("%*s", longestName(h.Rows), h.Rows[i].Name)
	if !grouped(h.Rows) {
		return name
	}
	width, here := 0, ""
	for _, s := range h.Rows {
		width = max(width, len(s.Group))
	}
	if begins(h.Rows, i) {
		here = h.Rows[i].Group
	}
	return fmt.Sprintf("%-*s %s", width, here, name)
}

// width returns the columns of the screen that the map takes with cells of this width: its indent, its labels and a gap, the cells, and
// a gap between groups.
func (h *Heat) width(cell int) int {
	width := 3 + utf8.RuneCountInString(h.label(0)) + len(h.Columns)*cell
	for j := range h.Columns {
		width += len(gap(h.Columns, j))
	}
	return width
}

// gap returns what stands before a column.
func gap(columns []Side, j int) string {
	if j > 0 && begins(columns, j) {
		return " "
	}
	return ""
}

// draw sets the cells in rows, right-aligned, each in its shade. What is not known is a dot.
func (h *Heat) draw(cell int, scale heatScale, show func(x float64) string, opts term.Options) string {
	names := strings.Repeat(" ", 3+utf8.RuneCountInString(h.label(0)))
	groups := ""
	for j, s := range h.Columns {
		names += gap(h.Columns, j)
		if begins(h.Columns, j) && len(groups) <= len(names) {
			groups += fmt.Sprintf("%*s%*s", len(names)-len(groups), "", cell, s.Group)
		}
		names += fmt.Sprintf("%*s", cell, s.Name)
	}
	block := ""
	if grouped(h.Columns) {
		block += groups + "\n"
	}
	if cell > longestName(h.Columns) {
		block += names + "\n"
	}
	for i, row := range h.At {
		block += "  " + opts.Paint(term.Dim, h.label(i)) + " "
		for j, x := range row {
			shown, ink := "·", term.Colour("")
			switch {
			case !math.IsNaN(x):
				shown, ink = show(x), Shades[scale.level(x)].Terminal()
			case h.absent(i, j):
				shown = ""
			}
			block += gap(h.Columns, j) + opts.Paint(ink, fmt.Sprintf("%*s", cell, shown))
		}
		block += "\n"
	}
	return term.TrimLines(block)
}
