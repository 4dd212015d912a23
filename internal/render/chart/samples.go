package chart

import (
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/table"
	"gorun/internal/units"
)

const (
	samplesLeft  = 54 // for the figures of y
	samplesTop   = 22 // where the greatest time is drawn
	samplesTall  = 62
	samplesPanel = samplesTop + samplesTall + 10
	samplesMarks = 2000 // up to which each sample is a mark of its own
)

// samplesPlot is a chart of samples over time. All its panels have the same axes.
type samplesPlot struct {
	byTime, times Axis
	scale         units.Scale
	most          int // marks of a panel where several samples have one; 0: each has its own
}

// SamplePanels draws the samples of each cell in the order in which they were taken, all over the same time and on one scale,
// so that a drift is seen and what else it struck. Of more than samplesMarks samples, those that follow each other are merged into
// their minimum, median and maximum.
func SamplePanels(set view.SeriesSet) (Drawing, bool) {
	f := Drawing{Title: "Samples over time: " + set.What, Description: "Each mark is a sample, in the order in which they were taken; " +
		"the line is the median. All panels have one scale."}
	all := measured(set)
	drawn := first(&f, all, maxRows)
	var at, seconds []float64
	for _, s := range drawn {
		for _, p := range s.Points {
			at, seconds = append(at, p.At), append(seconds, p.Seconds)
		}
	}
	if len(at) < 2 {
		return Drawing{}, false
	}
	along, place, unit := whole, "place", "place of the sample in the run"
	if set.Timed {
		along, place, unit = linear, "seconds since the start", "seconds since the run began"
	}
	plot := samplesPlot{
		byTime: along(min(0, slices.Min(at)), slices.Max(at), innerWidth-samplesLeft-6).moved(samplesLeft + 3),
		times:  closeAxis(seconds, samplesTall), scale: set.Scale(),
	}
	if len(at) > samplesMarks {
		plot.most = max(8, samplesMarks/len(drawn))
		f.Description = "Each bar is of samples that follow each other: its ends are the least and the greatest, " +
			"its dot the median of those that are not invalid. The line is the median of all. All panels have one scale."
	} else {
		f.Table = samplesTable(drawn, place, set.What)
	}
	if plot.times.factors {
		f.Description += " Equal distances on it are equal factors."
	}
	rows := make([]row, len(drawn))
	for i, s := range drawn {
		rows[i] = row{s.Name, medianText(s, plot.scale), plot.byTime.grid(samplesPanel-6) + plot.panel(s)}
	}
	below := plot.byTime.labels(tickText) + fmt.Sprintf(`<text x="%d" y="28" text-anchor="end">%s</text>`, innerWidth, unit)
	f.SVG = drawRows(f, plot.legend(drawn), rows, samplesPanel, below, 36)
	return f, true
}

// samplesTable has a row for each sample.
func samplesTable(drawn []view.Series, place, what string) table.Table {
	t := table.Table{Title: "The samples in the order in which they were taken: " + what}
	t.Add("cell", "sample", place, what, "verdict")
	for _, s := range drawn {
		for _, p := range s.Points {
			t.Rows = append(t.Rows, table.Row{Name: s.Name, Values: []table.Value{
				table.Text(s.Name), table.Count(p.Index), table.Number{X: p.At}, table.Seconds(p.Seconds), table.Text(pointWords(p)),
			}})
		}
	}
	return t
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

// kinds are those of samples, with their marks: these differ in shape as well as in colour.
var kinds = [...]struct{ name, class, path string }{
	{"valid", "a", "m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0"},
	{"baseline's duplicate", "a hollow", "m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0"},
	{"suspect", "b", "m0-3.5l3.2 5.6h-6.4z"},
	{"invalid or cut short", "c", "m-3-3l6 6m0-6l-6 6"},
}

// kindOf returns the index of a sample's kind.
func kindOf(p view.Point) int {
	switch {
	case !p.Good():
		return 3
	case p.Verdict == result.Suspect:
		return 2
	case p.Control:
		return 1
	}
	return 0
}

// legend names the marks that occur.
func (plot samplesPlot) legend(drawn []view.Series) (items []legendItem) {
	if plot.most > 0 {
		items = append(items, legendItem{"least to greatest, and median", `<g class="a"><path d="M0-6v12"/><circle r="1.6"/></g>`})
	} else {
		for n, kind := range kinds {
			if slices.ContainsFunc(drawn, func(s view.Series) bool {
				return slices.ContainsFunc(s.Points, func(p view.Point) bool { return kindOf(p) == n })
			}) {
				items = append(items, legendItem{kind.name, fmt.Sprintf(`<path class="%s" d="M0 0%s"/>`, kind.class, kind.path)})
			}
		}
	}
	return append(items, legendItem{"median", `<path d="M-9 0h18" stroke="currentColor" opacity=".7"/>`})
}

// panel is what is drawn of one series.
func (plot samplesPlot) panel(s view.Series) string {
	at := func(seconds float64) float64 { return samplesTop + samplesTall - plot.times.At(seconds) }
	var b strings.Builder
	fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" opacity=".05"/>`, samplesLeft, samplesTop-3, innerWidth-samplesLeft,
		samplesTall+6)
	every := (len(plot.times.Ticks) + 3) / 4 // there is room for four
	for i, tick := range plot.times.Ticks {
		if i%every == 0 {
			fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="currentColor" opacity=".12"/>`+
				`<text x="%d" y="%.1f" text-anchor="end" font-size="11">%s</text>`+"\n", samplesLeft, at(tick), innerWidth,
				samplesLeft-5, at(tick)+4, tickOf(plot.scale, tick))
		}
	}
	if median, good := s.Median(); good {
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="currentColor" opacity=".7"><title>median %s</title></path>`+"\n",
			samplesLeft, at(median), innerWidth, plot.scale.Text(median))
	}
	if plot.most > 0 {
		return b.String() + plot.merged(s, at)
	}
	for _, p := range s.Points {
		kind := kinds[kindOf(p)]
		fmt.Fprintf(&b, `<path class="%s" d="M%.1f %.1f%s"><title>sample %d: %s, %s</title></path>`+"\n", kind.class, plot.byTime.At(p.At),
			at(p.Seconds), kind.path, p.Index, plot.scale.Text(p.Seconds), html.EscapeString(pointWords(p)))
	}
	return b.String()
}

// merged has a bar for samples that follow each other and are not invalid, from the least to the greatest, and a dot at their median.
func (plot samplesPlot) merged(s view.Series, at func(seconds float64) float64) string {
	points := slices.DeleteFunc(slices.Clone(s.Points), func(p view.Point) bool { return !p.Good() })
	var b strings.Builder
	for part := range slices.Chunk(points, max(1, (len(points)+plot.most-1)/plot.most)) {
		d, n := view.Series{Points: part}.Distribution()
		fmt.Fprintf(&b, `<g class="a"><title>%s: %s … %s, median %s</title><path d="M%.1f %.1fV%.1f"/>`+
			`<circle cx="%.1[5]f" cy="%.1[8]f" r="1.6"/></g>`+"\n", units.Things(n, "sample"), plot.scale.Text(d.Min),
			plot.scale.Text(d.Max), plot.scale.Text(d.Median), plot.byTime.At(part[len(part)/2].At), at(d.Min), at(d.Max), at(d.Median))
	}
	return b.String()
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
