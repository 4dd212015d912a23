package chart

import (
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/units"
)

// svgInks are the colours of marks by class, those of Okabe and Ito. A page may set its own by the properties.
// Where a program knows none, the declaration before stands (CSS Custom Properties, 3).
var svgInks = svgInk("a", "#0072b2") + svgInk("b", "#e69f00") + svgInk("c", "#d55e00") +
	"<style>.gorun-svg .hollow{fill:none}</style>\n"

func svgInk(class, colour string) string {
	return fmt.Sprintf(`<style>.gorun-svg .%[1]s{fill:%[2]s;stroke:%[2]s;fill:var(--gorun-%[1]s,%[2]s);`+
		`stroke:var(--gorun-%[1]s,%[2]s)}</style>`, class, colour)
}

const (
	forestNames = 250 // width of the cells' names
	forestPlot  = 330
	forestWords = 150 // of the figures
	forestLabel = 145 // of each mark's label
	forestRow   = 20  // of a cell, and
	forestMark  = 10  // for each ratio of it
)

// MatrixSVG draws the verdicts of a matrix.
func MatrixSVG(w io.Writer, run *result.Run) error {
	return Write(w, run, errors.New("cannot draw the verdicts: no cell has one"), RatioForest)
}

// RatioForest draws each cell's ratio to the baseline with the interval that holds it: of the typical sample, below it
// of the total, and below that of each figure that is judged in addition to the deciding one. The scale goes by equal
// ratios, so that half and double are as far from 1.
func RatioForest(run *result.Run) (Figure, bool) {
	if run.Matrix == nil || run.BaselineWords() == "" {
		return Figure{}, false
	}
	titles := view.CellTitles(run)
	baseline := "that of its own row"
	if run.Cells[0].Against == nil {
		baseline = titles[run.Matrix.Baseline]
	}
	f := Figure{
		Title: "Time of each cell over that of the baseline",
		Table: FigureTable{
			Caption: "Ratio of each cell's time to that of the baseline, " + baseline + ", and the interval that holds it",
			Head:    []string{"cell", "typical", "from", "to", "total", "from", "to"},
		},
	}
	for _, figure := range run.Matrix.Figures {
		f.Table.Head = append(f.Table.Head, figure.Label, "from", "to")
	}
	f.Table.Head = append(f.Table.Head, "verdict")
	var cells []int
	for i, cell := range run.Cells {
		if cell.Verdict == nil || !finite(cell.Verdict.Typical.Ratio) {
			continue
		}
		cells = append(cells, i)
		row := []string{titles[i]}
		for _, effect := range effects(run, i) {
			row = append(row, effectCells(effect)...)
		}
		f.Table.Rows = append(f.Table.Rows, append(row, term.Clean(view.CellWords(run, i, term.Options{Verbose: true}).Text)))
	}
	if len(cells) == 0 {
		return Figure{}, false
	}
	f.Description = forestAbout(run, cells, baseline)
	f.SVG = forestSVG(run, cells, titles, f)
	return f, true
}

func forestAbout(run *result.Run, cells []int, baseline string) string {
	slower, faster := 0, 0
	for _, i := range cells {
		switch run.Cells[i].Verdict.Kind {
		case stats.Slower:
			slower++
		case stats.Faster:
			faster++
		}
	}
	return fmt.Sprintf("The baseline is %s. Of %s, %d took longer and %d less time. The grey band is the margin of %s, "+
		"within which a difference is none.", baseline, units.Things(len(cells), "other cell"), slower, faster,
		units.Share(run.Matrix.Margin))
}

// effects returns what is drawn of a cell, in the order of the marks: the typical effect, the total one, and the typical
// one on each figure that is judged in addition; nil where it is not known.
func effects(run *result.Run, cell int) []*stats.Effect {
	v := run.Cells[cell].Verdict
	all := []*stats.Effect{&v.Typical, v.Total}
	for _, figure := range run.Matrix.Figures {
		var effect *stats.Effect
		if v, judged := run.Cells[cell].Verdicts[figure.Column]; judged {
			effect = &v.Typical
		}
		all = append(all, effect)
	}
	return all
}

// effectCells are a ratio and the ends of its interval.
func effectCells(e *stats.Effect) []string {
	if e == nil {
		return []string{units.None, units.None, units.None}
	}
	cells := []string{units.Exact(e.Ratio), units.Unbounded, units.Unbounded}
	if e.Lo > 0 {
		cells[1] = units.Exact(e.Lo)
	}
	if e.Hi < math.MaxFloat64 {
		cells[2] = units.Exact(e.Hi)
	}
	return cells
}

// ratioAxis goes by equal ratios over all intervals; an end that lies much farther out than every ratio is left
// outside, so that one wide interval does not press all others together.
func ratioAxis(run *result.Run, cells []int) (axis Axis, lo, hi float64) {
	least, most := 1-run.Matrix.Margin, 1+run.Matrix.Margin
	lo, hi = least, most
	widen := func(e *stats.Effect) {
		if e == nil || !finite(e.Ratio) {
			return
		}
		least, most = min(least, e.Ratio), max(most, e.Ratio)
		if finite(e.Lo) {
			lo = min(lo, e.Lo)
		}
		if finite(e.Hi) {
			hi = max(hi, e.Hi)
		}
	}
	for _, i := range cells {
		for _, effect := range effects(run, i) {
			widen(effect)
		}
	}
	lo, hi = min(lo, least), max(hi, most)
	if !(lo > 0) { // a margin of 1 or more
		least, lo = 0.5, 0.5
	}
	const beyond = 1.5
	lo, hi = max(lo, least/beyond), min(hi, most*beyond)
	pad := math.Pow(hi/lo, 0.04)
	lo, hi = lo/pad, hi*pad
	axis.At = func(x float64) float64 { return math.Log(x/lo) / math.Log(hi/lo) * forestPlot }
	if hi/lo < 4 {
		axis.Ticks = Linear(lo, hi, forestPlot).Ticks
		return axis, lo, hi
	}
	step := math.Max(1, math.Ceil(math.Log2(hi/lo)/7))
	for power := math.Ceil(math.Log2(lo)/step) * step; power <= math.Log2(hi); power += step {
		axis.Ticks = append(axis.Ticks, math.Exp2(power))
	}
	return axis, lo, hi
}

func forestSVG(run *result.Run, cells []int, titles []string, f Figure) string {
	axis, lo, hi := ratioAxis(run, cells)
	top := svgHeading + 26
	marks := []string{"typical sample", "total of all samples"}
	for _, figure := range run.Matrix.Figures {
		marks = append(marks, figure.Label)
	}
	row := forestRow + (len(marks)-1)*forestMark
	height := len(cells) * row
	var b strings.Builder
	left := Margin + forestNames
	b.WriteString(openSVG(left+forestPlot+16+forestWords+Margin, top+height+46, f.Title, f.Description))
	b.WriteString(svgInks)
	fmt.Fprintf(&b, `<g font-size="11" transform="translate(%d %d)">`, left, svgHeading)
	for k, label := range marks {
		x := k * forestLabel
		fmt.Fprintf(&b, `<g class="%s"><path d="M%d 4h22" stroke-width="2"/>%s</g><text x="%d" y="8">%s</text>`,
			markClass(k), x, svgMark(k, float64(x+11), 4), x+28, html.EscapeString(label))
	}
	b.WriteString("</g>\n")
	fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", left, top)
	from, to := axis.At(max(lo, 1-run.Matrix.Margin)), axis.At(min(hi, 1+run.Matrix.Margin))
	fmt.Fprintf(&b, `<rect x="%.1f" width="%.1f" height="%d" opacity=".12"><title>the margin of %s</title></rect>`+"\n",
		from, to-from, height, units.Share(run.Matrix.Margin))
	for _, tick := range axis.Ticks {
		fmt.Fprintf(&b, `<path d="M%.1f 0v%d" stroke="currentColor" opacity=".15"/>`+
			`<text x="%.1[1]f" y="%[3]d" text-anchor="middle" font-size="11">%[4]s</text>`+"\n", axis.At(tick), height+5,
			height+19, ratioText(tick))
	}
	fmt.Fprintf(&b, `<path d="M%.1f 0v%d" stroke="currentColor" stroke-width="1.5"/>`+"\n", axis.At(1), height)
	fmt.Fprintf(&b, `<g font-size="11"><text y="%d">← takes less time</text>`+
		`<text x="%d" y="%[1]d" text-anchor="end">takes longer →</text></g>`+"\n", height+36, forestPlot)
	for n, i := range cells {
		verdict := run.Cells[i].Verdict
		middle := n*row + row/2
		name := html.EscapeString(titles[i])
		fmt.Fprintf(&b, `<g><title>%s: %s</title><text x="-8" y="%d" text-anchor="end">%s</text>`+
			`<text x="%d" y="%d" font-size="11">%s</text></g>`+"\n", name,
			html.EscapeString(term.Clean(view.CellWords(run, i, term.Options{Verbose: true}).Text)),
			middle+4, html.EscapeString(term.Snip(titles[i], forestNames/7)), forestPlot+12, middle+4,
			effectText(verdict.Typical))
		for k, effect := range effects(run, i) {
			if effect != nil && finite(effect.Ratio) {
				b.WriteString(svgEffect(axis, *effect, k, n*row+forestRow/2+1+k*forestMark, marks[k]))
			}
		}
	}
	return b.String() + "</g>\n</svg>\n"
}

// markClass is the ink of a mark, by its place among those of a cell.
func markClass(k int) string { return string("abc"[min(k, 2)]) }

// svgMark is a square, a diamond or a circle around a point, by the mark's place among those of a cell.
func svgMark(k int, x float64, y int) string {
	switch k {
	case 0:
		return fmt.Sprintf(`<rect x="%.1f" y="%.1f" width="7" height="7"/>`, x-3.5, float64(y)-3.5)
	case 1:
		return fmt.Sprintf(`<path d="M%.1f %dl4 4-4 4-4-4z"/>`, x, y-4)
	}
	return fmt.Sprintf(`<circle cx="%.1f" cy="%d" r="3.5"/>`, x, y)
}

// svgEffect draws an interval, with an arrow where it goes on outside, and the ratio as the mark of that place.
func svgEffect(axis Axis, e stats.Effect, k, y int, of string) string {
	ends, arrows := [2]float64{0, forestPlot}, ""
	if lo := axis.At(max(e.Lo, math.SmallestNonzeroFloat64)); lo >= 0 {
		ends[0] = min(lo, forestPlot)
	} else {
		arrows += fmt.Sprintf(`<path d="M0 %dl7-4v8z"/>`, y)
	}
	if hi := axis.At(e.Hi); e.Hi < math.MaxFloat64 && hi <= forestPlot {
		ends[1] = max(hi, 0)
	} else {
		arrows += fmt.Sprintf(`<path d="M%d %dl-7-4v8z"/>`, forestPlot, y)
	}
	x := min(max(axis.At(e.Ratio), 0), forestPlot)
	return fmt.Sprintf(`<g class="%s"><title>%s: %s</title><path d="M%.1f %dH%.1f" stroke-width="2"/>%s%s</g>`+"\n",
		markClass(k), html.EscapeString(of), effectText(e), ends[0], y, ends[1], arrows, svgMark(k, x, y))
}

// effectText is the interval of an effect. What it is of may be no time.
func effectText(e stats.Effect) string {
	return units.Changes{Step: 0.001, Amount: true}.Interval(e.Lo, e.Hi)
}

// ratioText shows a tick: fractions of powers of two below 1.
func ratioText(x float64) string {
	if x < 1 && slices.Contains([]float64{0.5, 0.25, 0.125, 0.0625, 0.03125}, x) {
		return "1/" + strconv.FormatFloat(1/x, 'f', -1, 64)
	}
	return TickText(x)
}

// finite tells whether a ratio can be drawn on a scale of ratios.
func finite(x float64) bool { return x > 0 && x < math.MaxFloat64/4 }
