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

const forestMark = 11 // height of a ratio

// MatrixSVG draws the verdicts of a matrix.
func MatrixSVG(w io.Writer, run *result.Run) error {
	return Write(w, run, errors.New("cannot draw the verdicts: no cell has one"), RatioForest)
}

// ratio is the ratio of a figure of a cell to that of the baseline, and the interval that holds it.
type ratio struct {
	of    string
	known bool
	stats.Effect
	amount bool // it is of something else than a time
}

func (r ratio) text() string {
	return units.Changes{Step: 0.001, Amount: r.amount}.Interval(r.Lo, r.Hi)
}

// ratiosOf returns what is drawn of a cell: the ratio of the typical sample, that of the total, and that of each figure that is judged
// in addition to the deciding one.
func ratiosOf(run *result.Run, cell result.Cell) []ratio {
	amount := run.Matrix.Compared == result.MetricColumn
	all := []ratio{
		{of: "typical sample", known: true, Effect: cell.Verdict.Typical, amount: amount}, {of: "total of all samples", amount: amount},
	}
	if cell.Verdict.Total != nil {
		all[1].known, all[1].Effect = true, *cell.Verdict.Total
	}
	for _, figure := range run.Matrix.Figures {
		v, judged := cell.Verdicts[figure.Column]
		all = append(all, ratio{figure.Label, judged, v.Typical, amount || !strings.HasSuffix(figure.Label, "time")})
	}
	for i := range all {
		r := &all[i]
		r.known = r.known && r.Lo >= 0 && r.Ratio > 0 && r.Ratio < math.MaxFloat64/4
	}
	return all
}

// RatioForest draws each cell's ratios to the baseline with the intervals that hold them. The scale goes by equal ratios, so that half
// and double are as far from 1.
func RatioForest(run *result.Run) (Drawing, bool) {
	if run.Matrix == nil {
		return Drawing{}, false
	}
	titles := view.CellTitles(run)
	baseline := "that of its own row"
	if run.Cells[0].Against == nil {
		baseline = titles[run.Matrix.Baseline]
	}
	what := "wall time"
	switch run.Matrix.Compared {
	case "":
	case result.MetricColumn:
		what = run.MetricName()
	default:
		what = "time"
	}
	f := Drawing{
		Title: "Ratio to the baseline: " + what,
		Description: fmt.Sprintf("The baseline is %s. The grey band is the margin of %s, within which a difference is none.", baseline,
			units.Share(run.Matrix.Margin)),
	}
	f.Table.Title = "Ratio of each cell's " + what + " to that of the baseline, " + baseline + ", and the interval that holds it"
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
				values = append(values, table.Number{X: r.Ratio}, table.Text(r.text()))
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
	f.Table.Add("verdict")
	f.SVG = forestSVG(f, run, cells, ratios)
	return f, true
}

// ratioAxis goes over all intervals. An end that lies much farther out than every ratio is left outside, so that one wide interval does
// not press all others together.
func ratioAxis(band float64, ratios [][]ratio) Axis {
	least, most := 1-band, 1+band
	if !(least > 0) {
		least = 0.5
	}
	lo, hi := least, most
	for _, r := range slices.Concat(ratios...) {
		if r.known {
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
	axis := ratioAxis(run.Matrix.Margin, ratios)
	var legend []legendItem
	var drawn []int // the places of the ratios that a cell has
	for k, r := range ratios[0] {
		if slices.ContainsFunc(ratios, func(of []ratio) bool { return of[k].known }) {
			drawn = append(drawn, k)
			legend = append(legend, legendItem{r.of, fmt.Sprintf(`<g class="%s"><path d="M-11 0h22" stroke-width="2"/>%s</g>`,
				markClass(k), svgMark(k, 0, 0))})
		}
	}
	tall := rowNames + len(drawn)*forestMark + 4
	from, to := inside(axis.At(max(0, 1-run.Matrix.Margin))), inside(axis.At(1+run.Matrix.Margin))
	const top = rowNames - 3
	ground := axis.grid(tall) + fmt.Sprintf(`<rect x="%.1f" y="%d" width="%.1f" height="%d" opacity=".12"/>`+
		`<path d="M%.1f %[2]dv%[4]d" stroke="currentColor" stroke-width="1.5"/>`+"\n", from, top, to-from, tall-top, axis.At(1))
	rows := make([]row, len(cells))
	for i, name := range cells {
		rows[i] = row{name, ratios[i][0].text(), ground}
		for n, k := range drawn {
			if r := ratios[i][k]; r.known {
				rows[i].drawn += svgRatio(axis, r, k, rowNames+n*forestMark+forestMark/2)
			}
		}
	}
	less, more := "takes less time", "takes longer"
	if ratios[0][0].amount {
		less, more = "less", "more"
	}
	below := axis.labels(ratioText) + fmt.Sprintf(`<text y="32">← %s</text><text x="%d" y="32" text-anchor="end">%s →</text>`,
		less, innerWidth, more)
	return drawRows(f, legend, rows, tall, below, 46)
}

// markClass is the ink of a mark, by its place among those of a cell.
func markClass(k int) string { return string("abc"[k%3]) }

// svgMark is the shape around a point, by the mark's place among those of a cell. Shape and ink together are different for
// the first twelve.
func svgMark(k int, x float64, y int) string {
	shapes := [...]string{"-3.5-3.5h7v7h-7z", "0-4l4 4-4 4-4-4z", "-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z", "0-4l4 7h-8z"}
	return fmt.Sprintf(`<path d="M%.1f %dm%s"/>`, x, y, shapes[k%len(shapes)])
}

// svgRatio draws an interval, with an arrow where it goes on outside, and the ratio as the mark of that place.
func svgRatio(axis Axis, r ratio, k, y int) string {
	from, to, arrows := axis.At(r.Lo), axis.At(r.Hi), ""
	if from < 0 {
		arrows += fmt.Sprintf(`<path d="M0 %dl7-4v8z"/>`, y)
	}
	if to > innerWidth {
		arrows += fmt.Sprintf(`<path d="M%d %dl-7-4v8z"/>`, innerWidth, y)
	}
	return fmt.Sprintf(`<g class="%s"><title>%s: %s</title><path d="M%.1f %dH%.1f" stroke-width="2"/>%s%s</g>`+"\n",
		markClass(k), html.EscapeString(r.of), r.text(), inside(from), y, inside(to), arrows, svgMark(k, inside(axis.At(r.Ratio)), y))
}

// ratioText shows a tick: powers of two below 1 as fractions.
func ratioText(x float64) string {
	if fraction, _ := math.Frexp(x); x < 1 && fraction == 0.5 {
		return "1/" + strconv.FormatFloat(1/x, 'f', -1, 64)
	}
	return tickText(x)
}
