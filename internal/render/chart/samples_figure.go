package chart

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/column"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/table"
	"gorun/internal/units"
)

const (
	samplesLeft   = 62 // for the figures of y
	samplesPlot   = svgWidth - samplesLeft - Margin
	samplesTall   = 62
	samplesPanel  = samplesTall + 32 // with its name
	samplesMarks  = 2000             // up to which each sample is a mark of its own
	samplesPanels = 100
)

// stretch is some samples of a series that follow each other, where there are too many to draw each.
type stretch struct {
	from, to  view.Point
	samples   int
	low, high float64
	median    float64
}

// SamplePanels draws the samples of each cell in the order in which they were taken, all over the same time and on one scale,
// so that a drift is seen and what else it struck. Of more than samplesMarks samples, adjacent ones are merged into their
// minimum, median and maximum.
func SamplePanels(set view.SeriesSet, scale units.Scale) (Figure, bool) {
	set.Series = measured(set)
	total := 0
	for _, s := range set.Series {
		total += len(s.Points)
	}
	if total < 2 {
		return Figure{}, false
	}
	joined := total > samplesMarks
	f := Figure{Title: "Samples over time: " + set.What}
	f.Description = "Each mark is a sample, in the order in which they were taken; the line is the median. All panels have one scale."
	drawn := set.Series[:min(len(set.Series), samplesPanels)]
	each := min(samplesPlot/2, max(8, samplesMarks/len(drawn)))
	at := "place"
	if set.Timed {
		at = "seconds since the start"
	}
	f.Table.Title = "The samples in the order in which they were taken: " + set.What
	if joined {
		f.Description = "Each bar is a stretch of samples that follow each other: its ends are the least and the greatest, " +
			"its dot the median of those that are not invalid. The line is the median of all. All panels have one scale."
		f.Table.Add("cell", "samples", at+", from", "to", set.What)
	} else {
		f.Table.Add("cell", "sample", at, set.What, "verdict")
	}
	if hidden := len(set.Series) - len(drawn); hidden > 0 {
		f.Description += fmt.Sprintf(" The first %d are drawn, and %d are not.", len(drawn), hidden)
	}
	for _, s := range drawn {
		if !joined {
			for _, p := range s.Points {
				f.Table.Rows = append(f.Table.Rows, table.Row{Name: s.Name, Values: []table.Value{
					table.Text(s.Name), table.Count(p.Index), table.Number{X: p.At}, table.Seconds(p.Seconds), table.Text(pointWords(p)),
				}})
			}
			continue
		}
		for _, part := range stretches(s.Points, each) {
			f.Table.Rows = append(f.Table.Rows, table.Row{Name: s.Name, Values: []table.Value{
				table.Text(s.Name), table.Count(part.samples),
				table.Number{X: part.from.At},
				table.Number{X: part.to.At},
				table.Spread{Median: part.median, Least: part.low, Most: part.high, Unit: column.Seconds},
			}})
		}
	}
	f.SVG = samplesSVG(set, drawn, scale, joined, each, &f)
	return f, true
}

// measured are the series that have samples.
func measured(set view.SeriesSet) []view.Series {
	return slices.DeleteFunc(slices.Clone(set.Series), func(s view.Series) bool { return len(s.Points) == 0 })
}

func pointWords(p view.Point) string {
	words := term.Clean(string(p.Verdict))
	if p.Control {
		words += ", the baseline's duplicate"
	}
	if p.Partial {
		words += ", cut short"
	}
	return words
}

// stretches merges adjacent samples that are not invalid into at most this number of stretches.
func stretches(points []view.Point, most int) []stretch {
	points = slices.DeleteFunc(slices.Clone(points), func(p view.Point) bool { return !p.Good() })
	var all []stretch
	for part := range slices.Chunk(points, max(1, (len(points)+most-1)/most)) {
		values := make([]float64, len(part))
		for i, p := range part {
			values[i] = p.Seconds
		}
		d := result.Distribute(values)
		all = append(all, stretch{part[0], part[len(part)-1], len(part), d.Min, d.Max, d.Median})
	}
	return all
}

// timesAxis is the axis of all points of some series, and reports whether equal distances on it are equal factors.
func timesAxis(drawn []view.Series, length float64) (axis Axis, byFactors bool) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range drawn {
		for _, p := range s.Points {
			lo, hi = min(lo, p.Seconds), max(hi, p.Seconds)
		}
	}
	return closeAxis(lo, hi, length)
}

func samplesSVG(set view.SeriesSet, drawn []view.Series, scale units.Scale, joined bool, each int, f *Figure) string {
	first, last := math.Inf(1), math.Inf(-1)
	for _, s := range drawn {
		for _, p := range s.Points {
			first, last = min(first, p.At), max(last, p.At)
		}
	}
	byTime := Linear(min(0, first), last, samplesPlot-6)
	if !set.Timed {
		byTime = whole(min(0, first), last, samplesPlot-6)
	}
	byTime.Ticks = thin(byTime.Ticks, 6)
	times, byFactors := timesAxis(drawn, samplesTall)
	times.Ticks = thin(times.Ticks, 4)
	if byFactors {
		f.Description += " Equal distances on it are equal factors."
	}
	legend, tall := samplesLegend(drawn, joined)
	top := svgHeading + tall + 4
	bottom := top + len(drawn)*samplesPanel
	var b strings.Builder
	b.WriteString(openSVG(svgWidth, bottom+36, f.Title, f.Description) + svgInks)
	fmt.Fprintf(&b, `<g transform="translate(%d %d)">%s</g>`+"\n", Margin, svgHeading, legend)
	for i, s := range drawn {
		b.WriteString(rowOf(s.Name, samplesLeft, top+i*samplesPanel, samplesPanel))
		b.WriteString(samplesRow(s, byTime, times, scale, joined, each) + "</g>\n")
	}
	b.WriteString(belowRows(samplesLeft, bottom-6) + `<g font-size="11">` + "\n")
	for _, tick := range byTime.Ticks {
		fmt.Fprintf(&b, `<text x="%.1f" y="12" text-anchor="middle">%s</text>`+"\n", byTime.At(tick), TickText(tick))
	}
	unit := "place of the sample in the run"
	if set.Timed {
		unit = "seconds since the run began"
	}
	fmt.Fprintf(&b, `<text x="%d" y="28" text-anchor="end">%s</text></g></g>`+"\n", samplesPlot, unit)
	return b.String() + "</svg>\n"
}

// samplesLegend names the marks that occur.
func samplesLegend(drawn []view.Series, joined bool) (legend string, height int) {
	median := legendItem{"median", `<path d="M-9 0h18" stroke="currentColor" opacity=".7"/>`}
	if joined {
		return drawLegendItems([]legendItem{
			{"least to greatest, and median", `<g class="a"><path d="M0-6v12"/><circle r="1.6"/></g>`}, median,
		})
	}
	var items []legendItem
	for _, kind := range []struct {
		name  string
		point view.Point
	}{
		{"valid", view.Point{Verdict: result.Valid}},
		{"of the baseline's duplicate", view.Point{Verdict: result.Valid, Control: true}},
		{"suspect", view.Point{Verdict: result.Suspect}},
		{"invalid or cut short", view.Point{Verdict: result.Invalid}},
	} {
		mark := pointMark(kind.point, 0, 0)
		if slices.ContainsFunc(drawn, func(s view.Series) bool {
			return slices.ContainsFunc(s.Points, func(p view.Point) bool { return pointMark(p, 0, 0) == mark })
		}) {
			items = append(items, legendItem{kind.name, mark + "</path>"})
		}
	}
	return drawLegendItems(append(items, median))
}

// samplesRow is the panel of one series.
func samplesRow(s view.Series, byTime, times Axis, scale units.Scale, joined bool, each int) string {
	at := func(x float64) float64 { return samplesTall - times.At(x) }
	median, good := s.Median()
	var b strings.Builder
	b.WriteString(rowHeading(s.Name, Margin-samplesLeft, samplesPlot, medianText(s, scale)))
	b.WriteString(`<g transform="translate(0 22)">` + "\n")
	fmt.Fprintf(&b, `<rect y="-3" width="%d" height="%d" opacity=".05"/>`, samplesPlot, samplesTall+6)
	for _, tick := range byTime.Ticks {
		fmt.Fprintf(&b, `<path d="M%.1f -3v%d" stroke="currentColor" opacity=".12"/>`, byTime.At(tick), samplesTall+6)
	}
	for _, tick := range times.Ticks {
		fmt.Fprintf(&b, `<path d="M0 %.1fh%d" stroke="currentColor" opacity=".12"/>`+
			`<text x="-5" y="%.1f" text-anchor="end" font-size="11">%s</text>`+"\n", at(tick), samplesPlot, at(tick)+4,
			tickOf(scale, tick))
	}
	if good {
		fmt.Fprintf(&b, `<path d="M0 %.1fh%d" stroke="currentColor" opacity=".7"><title>median %s</title></path>`+"\n",
			at(median), samplesPlot, scale.Text(median))
	}
	if joined {
		b.WriteString(svgStretches(stretches(s.Points, each), byTime, at, scale))
	} else {
		for _, p := range s.Points {
			fmt.Fprintf(&b, "%s<title>sample %d: %s, %s</title></path>\n", pointMark(p, byTime.At(p.At)+3, at(p.Seconds)), p.Index,
				scale.Text(p.Seconds), html.EscapeString(pointWords(p)))
		}
	}
	return b.String() + "</g>"
}

// medianText is the median of a series, and the number of samples that it is of.
func medianText(s view.Series, scale units.Scale) string {
	switch d, n := s.Distribution(); n {
	case 0:
		return "no valid sample"
	case 1:
		return scale.Text(d.Median) + ", 1 sample"
	default:
		return fmt.Sprintf("median %s of %d", scale.Text(d.Median), n)
	}
}

// tickOf is a tick's number with the unit of the scale.
func tickOf(scale units.Scale, seconds float64) string {
	x := scale.In(seconds)
	if digits := strconv.FormatFloat(x, 'f', -1, 64); len(digits) <= 6 {
		return digits + " " + scale.Unit
	}
	return strconv.FormatFloat(x, 'g', 4, 64) + " " + scale.Unit
}

// pointMark opens the mark of a sample. Its shape distinguishes it as well as its colour.
func pointMark(p view.Point, x, y float64) string {
	switch {
	case p.Verdict == result.Invalid || p.Partial:
		return fmt.Sprintf(`<path class="c" stroke-width="1.5" d="M%.1f %.1fl5 5m0-5l-5 5">`, x-2.5, y-2.5)
	case p.Verdict == result.Suspect:
		return fmt.Sprintf(`<path class="b" d="M%.1f %.1fl3.2 5.6h-6.4z">`, x, y-3.5)
	case p.Control:
		return fmt.Sprintf(`<path class="a hollow" d="M%.1f %.1fa2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0">`, x-2.5, y)
	}
	return fmt.Sprintf(`<path class="a" d="M%.1f %.1fa2 2 0 1 0 4 0a2 2 0 1 0-4 0">`, x-2, y)
}

// svgStretches has a bar a stretch, from its least to its greatest sample, and a dot at its median.
func svgStretches(all []stretch, byTime Axis, at func(float64) float64, scale units.Scale) string {
	var b strings.Builder
	for _, s := range all {
		x := (byTime.At(s.from.At) + byTime.At(s.to.At)) / 2
		fmt.Fprintf(&b, `<g class="a"><title>%s: %s … %s, median %s</title><path d="M%.1f %.1fV%.1f"/>`+
			`<circle cx="%.1[5]f" cy="%.1[8]f" r="1.6"/></g>`+"\n", units.Things(s.samples, "sample"), scale.Text(s.low),
			scale.Text(s.high), scale.Text(s.median), x+3, at(s.low), at(s.high), at(s.median))
	}
	return b.String()
}
