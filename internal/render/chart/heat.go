package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"gorun/internal/render/term"
	"gorun/internal/units"
)

// Heat is the data of a heat map: a figure of every two CPUs, the same both ways. The terminal and SVG draw from it.
type Heat struct {
	Unit  string
	Seats []Seat      // of the rows and of the columns, neighbours next to each other
	At    [][]float64 // NaN: not known

	Names []string              // of the rows and of the columns in SVG; nil: the CPUs' numbers
	Label func(i, j int) string // whose figure a cell of SVG is; nil: the two names
}

// between is whose figure a cell is.
func (h *Heat) between(i, j int) string {
	if h.Label != nil {
		return h.Label(i, j)
	}
	return h.name(i) + " – " + h.name(j)
}

// name returns the heading of a row and a column.
func (h *Heat) name(i int) string {
	if h.Names != nil {
		return h.Names[i]
	}
	return strconv.Itoa(h.Seats[i].CPU)
}

// Seat is where a CPU is. The numbers tell groups apart, and say no more.
type Seat struct{ CPU, Node, LLC, Core int }

// shade is a colour of the scale.
type shade struct {
	xterm int    // of the 256 colours of terminals
	Web   string // as CSS has it
	Ink   string // of text on it: "white", "black"
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

// Terminal is the shade as a background, with its ink.
func (s shade) Terminal() term.Colour {
	ink := 231
	if s.Ink == "black" {
		ink = 16
	}
	return term.Colour(fmt.Sprintf("38;5;%d;48;5;%d", ink, s.xterm))
}

// HeatScale gives figures their shades, by equal ratios: between the threads of a core and those of two nodes there are
// powers of ten.
type HeatScale struct{ Lo, Hi float64 }

// Scale is the range of all figures; false where there is none.
func (h *Heat) Scale() (s HeatScale, ok bool) {
	s = HeatScale{math.Inf(1), math.Inf(-1)}
	for _, row := range h.At {
		for _, x := range row {
			if !math.IsNaN(x) {
				s.Lo, s.Hi = min(s.Lo, x), max(s.Hi, x)
			}
		}
	}
	return s, s.Lo <= s.Hi
}

// Level is the index of a figure's shade.
func (s HeatScale) Level(x float64) int {
	if !(s.Lo > 0 && s.Hi > s.Lo) {
		return 0
	}
	place := math.Log(x/s.Lo) / math.Log(s.Hi/s.Lo) * float64(len(Shades))
	return max(0, min(len(Shades)-1, int(place)))
}

// from is the least figure of a level.
func (s HeatScale) from(level int) float64 {
	if s.Lo <= 0 {
		return s.Lo
	}
	return s.Lo * math.Pow(s.Hi/s.Lo, float64(level)/float64(len(Shades)))
}

// HeatText draws a heat map in opts.Width columns: the figures themselves where they fit, else a digit for each. It returns "" where
// those do not fit either.
func HeatText(h *Heat, opts term.Options) string {
	scale, ok := h.Scale()
	if !ok {
		return ""
	}
	for decimals := 1; decimals >= 0; decimals-- {
		show := func(x float64) string { return strconv.FormatFloat(x, 'f', decimals, 64) }
		cell := 1 + max(len(show(scale.Hi)), len(strconv.Itoa(h.highest())))
		if h.width(cell) <= opts.Columns() {
			return h.draw(cell, scale, show, opts)
		}
	}
	digit := func(x float64) string { return strconv.Itoa(scale.Level(x)) }
	for cell := 2; cell >= 1; cell-- {
		if h.width(cell) <= opts.Columns() {
			return h.draw(cell, scale, digit, opts) + ScaleLine(h.Unit, scale, opts)
		}
	}
	return ""
}

// ScaleLine is the legend of digits: the figure from which on each stands.
func ScaleLine(unit string, scale HeatScale, opts term.Options) string {
	parts := []string{unit + ", from:"}
	for level, shade := range Shades {
		parts = append(parts, opts.Paint(shade.Terminal(), strconv.Itoa(level))+" "+units.Digits(scale.from(level)))
	}
	return "  " + term.Flow(append(parts, "to "+units.Digits(scale.Hi)), "  ", "    ", opts.Columns()-2)
}

// highest is the highest number of a CPU.
func (h *Heat) highest() int {
	highest := 0
	for _, s := range h.Seats {
		highest = max(highest, s.CPU)
	}
	return highest
}

// label returns the text before a row: the number of its CPU, and before the first of a node, the node's name. Where
// there is one node, it has none.
func (h *Heat) label(i int) string {
	number := fmt.Sprintf("%*d", len(strconv.Itoa(h.highest())), h.Seats[i].CPU)
	if !h.nodes() {
		return number
	}
	name := func(i int) string { return "N" + strconv.Itoa(h.Seats[i].Node) }
	width, here := 0, name(i)
	for n := range h.Seats {
		width = max(width, len(name(n)))
	}
	if !h.nodeBegins(i) {
		here = ""
	}
	return fmt.Sprintf("%-*s %s", width, here, number)
}

// nodes tells whether there is more than one.
func (h *Heat) nodes() bool {
	return len(h.Seats) > 0 && h.Seats[0].Node != h.Seats[len(h.Seats)-1].Node
}

func (h *Heat) nodeBegins(i int) bool { return i == 0 || h.Seats[i].Node != h.Seats[i-1].Node }

// offsets returns where the cells of each column begin, with a gap between nodes, and at last where the map ends.
func (h *Heat) offsets(cell int) []int {
	offset := 2 // the indent of all blocks
	if len(h.Seats) > 0 {
		offset += len(h.label(0)) + 1
	}
	offsets := make([]int, 0, len(h.Seats)+1)
	for i := range h.Seats {
		if i > 0 && h.nodeBegins(i) {
			offset++
		}
		offsets = append(offsets, offset)
		offset += cell
	}
	return append(offsets, offset)
}

func (h *Heat) width(cell int) int { return h.offsets(cell)[len(h.Seats)] }

// draw sets the cells in rows, right-aligned, each in its shade. What is not known is a dot, but for the diagonal.
func (h *Heat) draw(cell int, scale HeatScale, show func(x float64) string, opts term.Options) string {
	offsets := h.offsets(cell)
	nodes, cpus := "", ""
	for i, s := range h.Seats {
		name := "N" + strconv.Itoa(s.Node)
		if at := offsets[i] + max(0, cell-len(name)); h.nodes() && h.nodeBegins(i) && (nodes == "" || len(nodes) < at) {
			nodes += strings.Repeat(" ", at-len(nodes)) + name
		}
		cpus += fmt.Sprintf("%*d", offsets[i]+cell-len(cpus), s.CPU)
	}
	var block strings.Builder
	if h.nodes() {
		block.WriteString(nodes + "\n")
	}
	if cell > len(strconv.Itoa(h.highest())) {
		block.WriteString(cpus + "\n")
	}
	for i := range h.Seats {
		block.WriteString("  " + opts.Paint(term.Dim, h.label(i)))
		end := offsets[0] - 1
		for j := range h.Seats {
			shown, ink := "·", term.Colour("")
			switch x := h.At[i][j]; {
			case !math.IsNaN(x):
				shown, ink = show(x), Shades[scale.Level(x)].Terminal()
			case i == j:
				shown = ""
			}
			block.WriteString(strings.Repeat(" ", offsets[j]-end))
			block.WriteString(opts.Paint(ink, strings.Repeat(" ", max(0, cell-utf8.RuneCountInString(shown)))+shown))
			end = offsets[j] + cell
		}
		block.WriteByte('\n')
	}
	return term.TrimLines(block.String())
}
