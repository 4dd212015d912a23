package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/view"
	"gorun/internal/stats"
)

const forestMark = 11 // height of a ratio

// ratio is the ratio of a figure of a cell to that of the baseline as the words of its verdict have it, and the interval that holds it.
type ratio struct {
	of    string
	known bool
	stats.Effect
	words string
	tone  table.Tone // that of the verdict by this ratio
	sense sense
}

// sense is what it means that a figure has a ratio above 1.
type sense int

const (
	longer sense = iota // a time
	higher              // a rate, of which more is better
	more                // an amount, of which less is better
	does                // a throughput
)

// senses are the texts at the ends of an axis.
var senses = [...]struct{ less, more string }{
	longer: {"takes less time", "takes longer"}, higher: {"lower rate", "higher rate"}, more: {"less", "more"},
	does: {"does less", "does more"},
}

func ratioOf(of string, v stats.Verdict, e stats.Effect) ratio {
	r := ratio{of: of, Effect: v.Shown(e), words: v.Words(e), tone: table.ToneOf(v.KindOf(e))}
	switch {
	case v.Scale > 0:
		r.sense = does
	case v.Rate:
		r.sense = higher
	case v.Amount:
		r.sense = more
	}
	r.known = r.Lo >= 0 && r.Ratio > 0 && r.Ratio < math.MaxFloat64/4
	return r
}

// ratiosOf returns what is drawn of a cell: the ratio of the typical sample, that of the total, and that of each figure that is judged
// in addition to the deciding one.
func ratiosOf(run *result.Run, cell result.Cell) []ratio {
	v := *cell.Verdict
	all := []ratio{ratioOf("typical sample", v, v.Typical), {of: "total of all samples"}}
	if v.Total != nil {
		all[1] = ratioOf(all[1].of, v, *v.Total)
	}
	for _, figure := range run.Matrix.Figures {
		of, judged := cell.Verdicts[figure.Column]
		r := ratioOf(figure.Label, of, of.Typical)
		r.known = r.known && judged
		all = append(all, r)
	}
	return all
}

// RatioForest draws each cell's ratios to the baseline with the intervals that hold them. The scale goes by equal ratios, so that half
// and double are as far from 1. False if no cell has a verdict.
func RatioForest(run *result.Run, shape view.Shape) (Drawing, bool) {
	if run.Matrix == nil {
		return Drawing{}, false
	}
	titles, what := view.CellTitles(run), shape.Subject(run)
	baseline := "that of its own row"
	if run.Cells[0].Against == nil {
		baseline = titles[run.Matrix.Baseline]
	}
	title, against := "Ratio to the baseline", fmt.Sprintf("The baseline is %s.", baseline)
	heading := title + ", " + baseline
	if len(run.Matrix.Steps) > 0 {
		title, against = "Ratio to the cell before", "A ratio above 1 is more done in the same time than by the cell before."
		heading = title
	}
	f := Drawing{
		Title: title + ": " + what,
		Description: fmt.Sprintf("%s The grey band is the margin of %s, within which a difference is none. A line is an "+
			"interval that holds the ratio (an arrow: it goes on): green where the cell is better, red where it is worse, amber where that is "+
			"not certain.", against, units.Share(run.Matrix.Margin)),
	}
	f.Table.Title = heading + ", and the interval that holds it: " + what
	f.Table.Add("cell")
	var cells []string
	var ratios [][]ratio
	for i, cell := range run.Cells {
		if cell.Verdict == nil {
			continue
		}
		of := ratiosOf(run, cell)
		if !of[0].known {
			continue
		}
		cells, ratios = append(cells, titles[i]), append(ratios, of)
		values := []table.Value{table.Text(titles[i])}
		for _, r := range of {
			if len(cells) == 1 {
				f.Table.Add(r.of, "interval")
			}
			if r.known {
				values = append(values, table.Number{X: r.Ratio}, table.Text(r.words))
			} else {
				values = append(values, nil, nil)
			}
		}
		values = append(values, table.Phrases{view.CellWords(run, i, true)})
		f.Table.Rows = append(f.Table.Rows, table.Row{Name: titles[i], Values: values})
	}
	if len(cells) == 0 {
		return Drawing{}, false
	}
	f.Table.Add(table.VerdictTitle)
	f.SVG = forestSVG(f, run, cells, ratios)
	return f, true
}

// ratioAxis goes over all intervals. An end that lies much farther out than every ratio is left outside, so that one wide interval does
// not press all others together.
func ratioAxis(band stats.Effect, ratios [][]ratio) Axis {
	least, most := band.Lo, band.Hi
	if !(least > 0) {
		least = 0.5
	}
	if !(most < math.MaxFloat64) {
		most = 2
	}
	lo, hi := least, most
	for _, r := range slices.Concat(ratios...) {
		if r.known && r.Bounded() {
			least, most = min(least, r.Ratio), max(most, r.Ratio)
			lo, hi = min(lo, r.Ratio, r.Lo), max(hi, r.Ratio, r.Hi)
		}
	}
	const beyond = 1.5
	lo, hi = max(lo, least/beyond), min(hi, most*beyond)
	pad := math.Pow(hi/lo, 0.04)
	lo, hi = lo/pad, hi*pad
	axis := byFactors(lo, hi, innerWidth, 2, 1)
	if hi/lo < 4 {
		axis.Ticks = linear(lo, hi, innerWidth).Ticks
	}
	return axis
}

// inside returns the place of the plot that is nearest to a place on an axis.
func inside(at float64) float64 { return min(max(at, 0), innerWidth) }

func forestSVG(f Drawing, run *result.Run, cells []string, ratios [][]ratio) string {
	// What is within the margin as a ratio of times, is so as a ratio of rates.
	band := stats.Verdict{Rate: ratios[0][0].sense == higher}.Shown(stats.Effect{
		Ratio: 1, Lo: max(0, 1-run.Matrix.Margin), Hi: 1 + run.Matrix.Margin,
	})
	axis := ratioAxis(band, ratios)
	var drawn []int // the places of the ratios that a cell has
	var meant []sense
	for k := range ratios[0] {
		if i := slices.IndexFunc(ratios, func(of []ratio) bool { return of[k].known }); i >= 0 {
			drawn, meant = append(drawn, k), append(meant, ratios[i][k].sense)
		}
	}
	ends, mixed := senses[meant[0]], slices.ContainsFunc(meant, func(s sense) bool { return s != meant[0] })
	if mixed {
		ends = senses[more]
	}
	var legend []legendItem
	for n, k := range drawn {
		name := ratios[0][k].of
		if mixed {
			name += map[bool]string{true: ": more is better", false: ": less is better"}[meant[n] == higher || meant[n] == does]
		}
		legend = append(legend, legendItem{name, `<path d="M-11 0h22" stroke="currentColor" stroke-width="2"/>` + svgMark(k, 0, 0)})
	}
	tall := rowNames + len(drawn)*forestMark + 4
	from, to := inside(axis.At(band.Lo)), inside(axis.At(band.Hi))
	const top = rowNames - 3
	ground := axis.grid(tall) + mark(`<rect x="%.1f" y="%d" width="%.1f" height="%d" opacity=".12"/>`+
		`<path d="M%.1f %[2]dv%[4]d" stroke="currentColor" stroke-width="1.5"/>`+"\n", from, top, to-from, tall-top, axis.At(1))
	rows := make([]row, len(cells))
	for i, name := range cells {
		rows[i] = row{name: name, drawn: ground}
		if typical := ratios[i][0]; typical.Bounded() {
			rows[i].figure = typical.words
		}
		for n, k := range drawn {
			if r := ratios[i][k]; r.known {
				rows[i].drawn += svgRatio(axis, r, k, rowNames+n*forestMark+forestMark/2)
			}
		}
	}
	below := axis.labels(ratioText) + mark(`<text y="32">← %s</text><text x="%d" y="32" text-anchor="end">%s →</text>`,
		ends.less, innerWidth, ends.more)
	return drawRows(f, legend, rows, tall, below, 46)
}

// shapes are those of the marks, by their places among those of a cell.
var shapes = [...]string{
	"-3.5-3.5h7v7h-7z", "0-4l4 4-4 4-4-4z", "-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z", "0-4l4 7h-8z",
	"0 4l4-7h-8z", "-1.2-4h2.4v8h-2.4z", "-4-1.2h8v2.4h-8z", "-4-4h8l-8 8z",
}

// svgMark is the shape around a point. Its ink is that of the verdict.
func svgMark(k int, x float64, y int) Markup {
	return mark(`<path d="M%.1f %dm%s"/>`, x, y, shapes[k%len(shapes)])
}

// svgRatio draws an interval, with an arrow where it goes on outside, and the ratio as the mark of that place. An interval that is not
// bounded, or that goes on outside at both ends, is words: a line along the whole axis would say nothing.
func svgRatio(axis Axis, r ratio, k, y int) Markup {
	ink := "same"
	if r.tone != "" {
		ink = string(r.tone)
	}
	title := r.of + ": " + r.words
	from, to, arrows := axis.At(r.Lo), axis.At(r.Hi), Markup("")
	if !r.Bounded() || from < 0 && to > innerWidth {
		x, anchor, beside := inside(axis.At(r.Ratio)), "start", 8.0
		if x > innerWidth/2 {
			anchor, beside = "end", -8
		}
		return mark(`<g class="%s"><title>%s</title>%s<text x="%.1f" y="%d" font-size="10" stroke="none" text-anchor="%s">%s</text></g>`+
			"\n", ink, title, svgMark(k, x, y), x+beside, y+4, anchor, r.words)
	}
	if from < 0 {
		arrows += mark(`<path d="M0 %dl7-4v8z"/>`, y)
	}
	if to > innerWidth {
		arrows += mark(`<path d="M%d %dl-7-4v8z"/>`, innerWidth, y)
	}
	return mark(`<g class="%s"><title>%s</title><path d="M%.1f %dH%.1f" stroke-width="2"/>%s%s</g>`+"\n",
		ink, title, inside(from), y, inside(to), arrows, svgMark(k, inside(axis.At(r.Ratio)), y))
}

// ratioText shows a tick: powers of two below 1 as fractions.
func ratioText(x float64) string {
	if fraction, _ := math.Frexp(x); x < 1 && fraction == 0.5 {
		return "1/" + strconv.FormatFloat(1/x, 'f', -1, 64)
	}
	return tickText(x)
}
