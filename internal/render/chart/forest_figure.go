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

	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/table"
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
	forestPlot = Inside
	forestName = 18 // height of a cell's name, and
	forestMark = 11 // of each ratio of it
)

// MatrixSVG draws the verdicts of a matrix.
func MatrixSVG(w io.Writer, run *result.Run) error {
	return Write(w, run, errors.New("cannot draw the verdicts: no cell has one"), RatioForest)
}

// RatioForest draws each cell's ratio to the baseline with the interval that holds it: of the typical sample, below it
// of the total, and below that of each figure that is judged in addition to the deciding one. The scale goes by equal
// ratios, so that half and double are as far from 1.
func RatioForest(run *result.Run) (Figure, bool) {
	if run.Matrix == nil {
		return Figure{}, false
	}
	titles := view.CellTitles(run)
	baseline := "that of its own row"
	if run.Cells[0].Against == nil {
		baseline = titles[run.Matrix.Baseline]
	}
	what := "wall time"
	switch run.Matrix.Datum {
	case "":
	case result.DatumMetric:
		what = run.MetricName()
	default:
		what = "time"
	}
	f := Figure{
		Title: "Ratio to the baseline: " + what,
		Table: table.Table{
			Title: "Ratio of each cell's " + what + " to that of the baseline, " + baseline + ", and the interval that holds it",
		},
	}
	f.Table.Add("cell", "typical", "from", "to", "total", "from", "to")
	for _, figure := range run.Matrix.Figures {
		f.Table.Add(figure.Label, "from", "to")
	}
	f.Table.Add("verdict")
	var cells []int
	for i, cell := range run.Cells {
		if cell.Verdict == nil || !finite(cell.Verdict.Typical.Ratio) {
			continue
		}
		cells = append(cells, i)
		row := table.Row{Name: titles[i], Values: []table.Value{table.Text(titles[i])}}
		for _, effect := range effects(run, i) {
			row.Values = append(row.Values, effectValues(effect)...)
		}
		row.Values = append(row.Values, table.Words{view.CellWords(run, i, true)})
		f.Table.Rows = append(f.Table.Rows, row)
	}
	if len(cells) == 0 {
		return Figure{}, false
	}
	f.Description = forestAbout(run, cells, baseline)
	f.SVG = forestSVG(run, cells, titles, f)
	return f, true
}

func forestAbout(run *result.Run, cells []int, baseline string) string {
	counts := map[stats.Kind]int{}
	for _, i := range cells {
		counts[run.Cells[i].Verdict.Kind]++
	}
	return fmt.Sprintf("The baseline is %s. %s: %d slower, %d faster. The grey band is the margin of %s, "+
		"within which a difference is none.", baseline, units.Things(len(cells), "other cell"), counts[stats.Slower],
		counts[stats.Faster], units.Share(run.Matrix.Margin))
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

// effectValues are a ratio and the ends of its interval.
func effectValues(e *stats.Effect) []table.Value {
	if e == nil {
		return make([]table.Value, 3)
	}
	values := []table.Value{table.Number{X: e.Ratio}, table.Text(units.Unbounded), table.Text(units.Unbounded)}
	if e.Lo > 0 {
		values[1] = table.Number{X: e.Lo}
	}
	if e.Hi < math.MaxFloat64 {
		values[2] = table.Number{X: e.Hi}
	}
	return values
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

// forestMarks are the marks of a cell that occur: their labels by their places.
func forestMarks(run *result.Run, cells []int) (labels []string, places []int) {
	labels = []string{"typical sample", "total of all samples"}
	for _, figure := range run.Matrix.Figures {
		labels = append(labels, figure.Label)
	}
	for k := range labels {
		if slices.ContainsFunc(cells, func(cell int) bool {
			effect := effects(run, cell)[k]
			return effect != nil && finite(effect.Ratio)
		}) {
			places = append(places, k)
		}
	}
	return labels, places
}

func forestSVG(run *result.Run, cells []int, titles []string, f Figure) string {
	axis, lo, hi := ratioAxis(run, cells)
	axis.Ticks = thin(axis.Ticks, 7)
	labels, places := forestMarks(run, cells)
	var items []legendItem
	for _, k := range places {
		items = append(items, legendItem{labels[k], fmt.Sprintf(`<g class="%s"><path d="M-11 0h22" stroke-width="2"/>%s</g>`,
			markClass(k), svgMark(k, 0, 0))})
	}
	legend, tall := drawLegendItems(items)
	top := svgHeading + tall + 2
	row := forestName + len(places)*forestMark + 4
	bottom := top + len(cells)*row
	var b strings.Builder
	b.WriteString(openSVG(svgWidth, bottom+46, f.Title, f.Description) + svgInks)
	fmt.Fprintf(&b, `<g transform="translate(%d %d)">%s</g>`+"\n", Margin, svgHeading, legend)
	var grid strings.Builder
	from, to := axis.At(max(lo, 1-run.Matrix.Margin)), axis.At(min(hi, 1+run.Matrix.Margin))
	fmt.Fprintf(&grid, `<rect x="%.1f" y="%d" width="%.1f" height="%d" opacity=".12"/><path d="`, from, forestName-3, to-from,
		row-forestName+3)
	for _, tick := range axis.Ticks {
		fmt.Fprintf(&grid, "M%.1f %dv%d", axis.At(tick), forestName-3, row-forestName+3)
	}
	fmt.Fprintf(&grid, `" stroke="currentColor" opacity=".15"/><path d="M%.1f %dv%d" stroke="currentColor" stroke-width="1.5"/>`+"\n",
		axis.At(1), forestName-3, row-forestName+3)
	amount := run.Matrix.Datum == result.DatumMetric
	for n, i := range cells {
		b.WriteString(rowOf(titles[i], Margin, top+n*row, row))
		b.WriteString(rowHeading(titles[i], 0, forestPlot, effectText(run.Cells[i].Verdict.Typical, amount)) + grid.String())
		y := forestName + forestMark/2
		for _, k := range places {
			if effect := effects(run, i)[k]; effect != nil && finite(effect.Ratio) {
				b.WriteString(svgEffect(axis, *effect, k, y, labels[k], amount || k > 1 && !strings.HasSuffix(labels[k], "time")))
			}
			y += forestMark
		}
		b.WriteString("</g>\n")
	}
	b.WriteString(belowRows(Margin, bottom) + `<g font-size="11">` + "\n")
	for _, tick := range axis.Ticks {
		fmt.Fprintf(&b, `<text x="%.1f" y="13" text-anchor="middle">%s</text>`+"\n", min(max(axis.At(tick), 8), forestPlot-8),
			ratioText(tick))
	}
	less, more := "takes less time", "takes longer"
	if amount {
		less, more = "less", "more"
	}
	fmt.Fprintf(&b, `<text y="32">← %s</text><text x="%d" y="32" text-anchor="end">%s →</text></g></g>`+"\n", less, forestPlot, more)
	return b.String() + "</svg>\n"
}

// markClass is the ink of a mark, by its place among those of a cell.
func markClass(k int) string { return string("abc"[k%3]) }

// svgMark is the shape around a point, by the mark's place among those of a cell. Shape and ink together are different for
// the first twelve.
func svgMark(k int, x float64, y int) string {
	shapes := [...]string{"-3.5-3.5h7v7h-7z", "0-4l4 4-4 4-4-4z", "-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z", "0-4l4 7h-8z"}
	return fmt.Sprintf(`<path d="M%.1f %dm%s"/>`, x, y, shapes[k%len(shapes)])
}

// svgEffect draws an interval, with an arrow where it goes on outside, and the ratio as the mark of that place.
func svgEffect(axis Axis, e stats.Effect, k, y int, of string, amount bool) string {
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
		markClass(k), html.EscapeString(of), effectText(e, amount), ends[0], y, ends[1], arrows, svgMark(k, x, y))
}

// effectText is the interval of an effect on a time, or on an amount of something else.
func effectText(e stats.Effect, amount bool) string {
	return units.Changes{Step: 0.001, Amount: amount}.Interval(e.Lo, e.Hi)
}

// ratioText shows a tick: powers of two below 1 as fractions.
func ratioText(x float64) string {
	if fraction, _ := math.Frexp(x); x < 1 && fraction == 0.5 {
		return "1/" + strconv.FormatFloat(1/x, 'f', -1, 64)
	}
	return TickText(x)
}

// finite tells whether a ratio can be drawn on a scale of ratios.
func finite(x float64) bool { return x > 0 && x < math.MaxFloat64/4 }
