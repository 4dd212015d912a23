package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// heat is what a heat map shows: a figure of every two CPUs, the same both ways. The terminal and SVG draw from it.
type heat struct {
	unit string
	seat []seat      // of the rows and of the columns, neighbours next to each other
	at   [][]float64 // NaN: not known

	names []string              // of the rows and of the columns in SVG; nil: the CPUs' numbers
	tell  func(i, j int) string // whose figure a cell of SVG is; nil: the two names
}

// between is whose figure a cell is.
func (h *heat) between(i, j int) string {
	if h.tell != nil {
		return h.tell(i, j)
	}
	return h.name(i) + " – " + h.name(j)
}

// name is what a row and a column are called.
func (h *heat) name(i int) string {
	if h.names != nil {
		return h.names[i]
	}
	return strconv.Itoa(h.seat[i].cpu)
}

// seat is where a CPU is. The numbers tell groups apart, and say no more.
type seat struct{ cpu, node, llc, core int }

// shade is a colour of the scale.
type shade struct {
	xterm int    // of the 256 colours of terminals
	web   string // as CSS has it
	ink   string // of text on it: "white", "black"
}

// shades go from the least figure to the greatest along viridis (van der Walt and Smith, matplotlib 2.0): its lightness
// only rises, so that it can be told without seeing colours. The terminal's are the nearest that keep this.
var shades = [...]shade{
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

// terminal is the shade as a background, with its ink.
func (s shade) terminal() colour {
	ink := 231
	if s.ink == "black" {
		ink = 16
	}
	return colour(fmt.Sprintf("38;5;%d;48;5;%d", ink, s.xterm))
}

// heatScale gives figures their shades, by equal ratios: between the threads of a core and those of two nodes there are
// powers of ten.
type heatScale struct{ lo, hi float64 }

// scale is the range of all figures; false where there is none.
func (h *heat) scale() (s heatScale, ok bool) {
	s = heatScale{math.Inf(1), math.Inf(-1)}
	for _, row := range h.at {
		for _, x := range row {
			if !math.IsNaN(x) {
				s.lo, s.hi = min(s.lo, x), max(s.hi, x)
			}
		}
	}
	return s, s.lo <= s.hi
}

// level is the index of a figure's shade.
func (s heatScale) level(x float64) int {
	if !(s.lo > 0 && s.hi > s.lo) {
		return 0
	}
	place := math.Log(x/s.lo) / math.Log(s.hi/s.lo) * float64(len(shades))
	return max(0, min(len(shades)-1, int(place)))
}

// from is the least figure of a level.
func (s heatScale) from(level int) float64 {
	if s.lo <= 0 {
		return s.lo
	}
	return s.lo * math.Pow(s.hi/s.lo, float64(level)/float64(len(shades)))
}

// heatText draws a heat map in opts.Width columns: the figures themselves where they fit, else a digit for each, else a
// digit for each two groups of neighbours.
func heatText(h *heat, opts Options) string {
	scale, ok := h.scale()
	if !ok {
		return ""
	}
	for decimals := 1; decimals >= 0; decimals-- {
		show := func(x float64) string { return strconv.FormatFloat(x, 'f', decimals, 64) }
		cell := 1 + max(len(show(scale.hi)), len(strconv.Itoa(h.highest())))
		if h.width(cell) <= opts.columns() {
			return h.draw(cell, scale, show, opts)
		}
	}
	digit := func(x float64) string { return strconv.Itoa(scale.level(x)) }
	for cell := 2; cell >= 1; cell-- {
		if h.width(cell) <= opts.columns() {
			return h.draw(cell, scale, digit, opts) + scaleLine(h.unit, scale, opts)
		}
	}
	coarse, size := h.coarse(func(joined *heat) bool { return joined.width(1) <= opts.columns() })
	return coarse.draw(1, scale, digit, opts) + scaleLine(h.unit, scale, opts) + paragraph("  ",
		fmt.Sprintf("A row and a column are up to %d neighbouring CPUs, by the number of the first; a digit is the mean of"+
			" their pairs.", size), opts.columns()-2)
}

// scaleLine is the legend of digits: the figure from which on each stands.
func scaleLine(unit string, scale heatScale, opts Options) string {
	parts := []string{unit + ", from:"}
	for level, shade := range shades {
		parts = append(parts, opts.paint(shade.terminal(), strconv.Itoa(level))+" "+digits(scale.from(level)))
	}
	return "  " + flow(append(parts, "to "+digits(scale.hi)), "  ", "    ", opts.columns()-2)
}

// highest is the highest number of a CPU.
func (h *heat) highest() int {
	highest := 0
	for _, s := range h.seat {
		highest = max(highest, s.cpu)
	}
	return highest
}

// label is what stands before a row: the number of its CPU, and before the first of a node, the node's name. Where
// there is one node, it has none.
func (h *heat) label(i int) string {
	number := fmt.Sprintf("%*d", len(strconv.Itoa(h.highest())), h.seat[i].cpu)
	if !h.nodes() {
		return number
	}
	name := func(i int) string { return "N" + strconv.Itoa(h.seat[i].node) }
	width, here := 0, name(i)
	for n := range h.seat {
		width = max(width, len(name(n)))
	}
	if !h.nodeBegins(i) {
		here = ""
	}
	return fmt.Sprintf("%-*s %s", width, here, number)
}

// nodes tells whether there is more than one.
func (h *heat) nodes() bool {
	return len(h.seat) > 0 && h.seat[0].node != h.seat[len(h.seat)-1].node
}

func (h *heat) nodeBegins(i int) bool { return i == 0 || h.seat[i].node != h.seat[i-1].node }

// offsets are where the cells of so many columns begin, with a gap between nodes, and last where the map ends.
func (h *heat) offsets(cell int) []int {
	offset := 2 // the indent of all blocks
	if len(h.seat) > 0 {
		offset += len(h.label(0)) + 1
	}
	offsets := make([]int, 0, len(h.seat)+1)
	for i := range h.seat {
		if i > 0 && h.nodeBegins(i) {
			offset++
		}
		offsets = append(offsets, offset)
		offset += cell
	}
	return append(offsets, offset)
}

func (h *heat) width(cell int) int { return h.offsets(cell)[len(h.seat)] }

// draw sets the cells in rows, right-aligned, each in its shade. What is not known is a dot, but for the diagonal.
func (h *heat) draw(cell int, scale heatScale, show func(x float64) string, opts Options) string {
	offsets := h.offsets(cell)
	nodes, cpus := "", ""
	for i, s := range h.seat {
		name := "N" + strconv.Itoa(s.node)
		if at := offsets[i] + max(0, cell-len(name)); h.nodes() && h.nodeBegins(i) && (nodes == "" || len(nodes) < at) {
			nodes += strings.Repeat(" ", at-len(nodes)) + name
		}
		cpus += fmt.Sprintf("%*d", offsets[i]+cell-len(cpus), s.cpu)
	}
	var block strings.Builder
	if h.nodes() {
		block.WriteString(nodes + "\n")
	}
	if cell > len(strconv.Itoa(h.highest())) {
		block.WriteString(cpus + "\n")
	}
	for i := range h.seat {
		block.WriteString("  " + opts.paint(dim, h.label(i)))
		end := offsets[0] - 1
		for j := range h.seat {
			shown, ink := "·", colour("")
			switch x := h.at[i][j]; {
			case !math.IsNaN(x):
				shown, ink = show(x), shades[scale.level(x)].terminal()
			case i == j:
				shown = ""
			}
			block.WriteString(strings.Repeat(" ", offsets[j]-end))
			block.WriteString(opts.paint(ink, strings.Repeat(" ", max(0, cell-utf8.RuneCountInString(shown)))+shown))
			end = offsets[j] + cell
		}
		block.WriteByte('\n')
	}
	return trimLines(block.String())
}

// coarse joins neighbours, as few as make the map fit: within a cache, else within a node, else any. It returns how
// many CPUs the largest group has.
func (h *heat) coarse(fits func(joined *heat) bool) (*heat, int) {
	for _, apart := range []func(a, b seat) bool{
		func(a, b seat) bool { return a.node != b.node || a.llc != b.llc },
		func(a, b seat) bool { return a.node != b.node },
		func(seat, seat) bool { return false },
	} {
		for size := 2; size < 2*len(h.seat); size *= 2 {
			if joined, largest := h.join(size, apart); fits(joined) {
				return joined, largest
			}
		}
	}
	return h.join(len(h.seat), func(seat, seat) bool { return false })
}

// join makes groups of up to size neighbours that are not apart; a figure is the mean of those known between two of
// them.
func (h *heat) join(size int, apart func(a, b seat) bool) (joined *heat, largest int) {
	joined = &heat{unit: h.unit}
	group := make([]int, len(h.seat)) // of each CPU
	members := 0
	for i, s := range h.seat {
		if i == 0 || members == size || apart(h.seat[i-1], s) {
			joined.seat = append(joined.seat, s)
			members = 0
		}
		group[i] = len(joined.seat) - 1
		members++
		largest = max(largest, members)
	}
	n := len(joined.seat)
	sums, counts := make([]float64, n*n), make([]float64, n*n)
	for i, row := range h.at {
		for j, x := range row {
			if !math.IsNaN(x) {
				sums[group[i]*n+group[j]] += x
				counts[group[i]*n+group[j]]++
			}
		}
	}
	joined.at = make([][]float64, n)
	for i := range joined.at {
		joined.at[i] = make([]float64, n)
		for j := range joined.at[i] {
			joined.at[i][j] = sums[i*n+j] / counts[i*n+j] // NaN without any
		}
	}
	return joined, largest
}
