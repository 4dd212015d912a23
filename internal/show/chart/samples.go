package chart

import (
	"fmt"
	"slices"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
	"gorun/internal/stats"
)

const (
	samplesLeft  = 54 // for the figures of y
	samplesTop   = 22 // where the greatest time is drawn
	samplesTall  = 62
	samplesPanel = samplesTop + samplesTall + 10
	samplesMarks = 2000 // up to which each sample is a mark of its own,
	samplesEach  = 300  // unless a cell has more than these
	samplesBars  = 60   // of a panel whose samples are merged
)

// samplesPlot is a chart of samples over time. All its panels have the same axes.
type samplesPlot struct {
	byTime, figures Axis
	scale           view.Scale
	most            int // marks of a panel where several samples have one; 0: each has its own
}

// SamplePanels draws the samples of each cell in the order in which they were taken, all over the same time and on one scale,
// so that a drift is seen and what else it struck. Of many samples, those that follow each other are merged into a box. A cell that was
// not sampled to the end says why at its last sample.
func SamplePanels(set view.SeriesSet) (Drawing, bool) {
	f := Drawing{Title: "Samples over time: " + set.Subject(), Description: "Each mark is a sample, in the order in which they were taken; " +
		"the line is the median. All panels have one scale."}
	all := measured(set)
	drawn := first(&f, all, maxRows)
	var at, figures []float64
	longest := 0
	for _, s := range drawn {
		longest = max(longest, len(s.Points))
		for _, p := range s.Points {
			at, figures = append(at, p.At), append(figures, p.Figure)
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
		byTime:  along(min(0, slices.Min(at)), slices.Max(at), innerWidth-samplesLeft-6).moved(samplesLeft + 3),
		figures: closeAxis(figures, samplesTall), scale: set.Scale(),
	}
	if len(at) > samplesMarks || longest > samplesEach {
		plot.most = max(8, min(samplesBars, samplesMarks/len(drawn)))
		f.Description = "Each box is of samples that follow each other and are not invalid: half of them are in the box, its mark is " +
			"their median, and the thin line goes from the least to the greatest. The long line is the median of all. " +
			"All panels have one scale."
	}
	if len(at) <= samplesMarks {
		f.Table = samplesTable(drawn, place, set)
	}
	if plot.figures.factors {
		f.Description += " Equal distances on it are equal factors."
	}
	rows := make([]row, len(drawn))
	for i, s := range drawn {
		rows[i] = row{s.Name, medianText(s, plot.scale), plot.byTime.grid(samplesPanel-6) + plot.panel(s)}
	}
	below := plot.byTime.labels(tickText) + mark(`<text x="%d" y="28" text-anchor="end">%s</text>`, innerWidth, unit)
	f.SVG = drawRows(f, plot.legend(drawn), rows, samplesPanel, below, 36)
	return f, true
}

// samplesTable has a row for each sample.
func samplesTable(drawn []view.Series, place string, set view.SeriesSet) table.Table {
	t := table.Table{Title: "The samples in the order in which they were taken: " + set.Subject()}
	t.Add("cell", "sample", place, set.What, "verdict")
	for _, s := range drawn {
		for _, p := range s.Points {
			t.Rows = append(t.Rows, table.Row{Name: s.Name, Values: []table.Value{
				table.Text(s.Name), table.Count(p.Index), table.Number{X: p.At}, set.Value(p.Figure), table.Text(pointWords(p)),
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
	words := term.Clean(string(p.Grade))
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
	case p.Grade == result.Suspect:
		return 2
	case p.Control:
		return 1
	}
	return 0
}

// legend names the marks that occur.
func (plot samplesPlot) legend(drawn []view.Series) (items []legendItem) {
	if plot.most > 0 {
		items = append(items, legendItem{"samples that follow each other", `<g class="a">` + boxAt(0, -7, -3.5, 0, 3.5, 7) + "</g>"})
	} else {
		for n, kind := range kinds {
			if slices.ContainsFunc(drawn, func(s view.Series) bool {
				return slices.ContainsFunc(s.Points, func(p view.Point) bool { return kindOf(p) == n })
			}) {
				items = append(items, legendItem{kind.name, mark(`<path class="%s" d="M0 0%s"/>`, kind.class, kind.path)})
			}
		}
	}
	return append(items, legendItem{"median of all", `<path d="M-9 0h18" stroke="currentColor" opacity=".7"/>`})
}

// panel is what is drawn of one series.
func (plot samplesPlot) panel(s view.Series) Markup {
	at := func(figure float64) float64 { return samplesTop + samplesTall - plot.figures.At(figure) }
	var b pieces
	b.add(`<rect x="%d" y="%d" width="%d" height="%d" opacity=".05"/>`, samplesLeft, samplesTop-3, innerWidth-samplesLeft,
		samplesTall+6)
	every := (len(plot.figures.Ticks) + 3) / 4 // there is room for four
	for i, tick := range plot.figures.Ticks {
		if i%every == 0 {
			b.add(`<path d="M%d %.1fH%d" stroke="currentColor" opacity=".12"/>`+
				`<text x="%d" y="%.1f" text-anchor="end" font-size="11">%s</text>`+"\n", samplesLeft, at(tick), innerWidth,
				samplesLeft-5, at(tick)+4, plot.scale.Tick(tick))
		}
	}
	if median, good := s.Median(); good {
		b.add(`<path d="M%d %.1fH%d" stroke="currentColor" opacity=".7"><title>median %s</title></path>`+"\n",
			samplesLeft, at(median), innerWidth, plot.scale.Text(median))
	}
	b.put(plot.ended(s))
	if plot.most > 0 {
		return b.whole() + plot.merged(s, at)
	}
	for _, p := range s.Points {
		kind := kinds[kindOf(p)]
		b.add(`<path class="%s" d="M%.1f %.1f%s"><title>sample %d: %s, %s</title></path>`+"\n", kind.class, plot.byTime.At(p.At),
			at(p.Figure), kind.path, p.Index, plot.scale.Text(p.Figure), pointWords(p))
	}
	return b.whole()
}

// ended marks the end of a series that other series go beyond.
func (plot samplesPlot) ended(s view.Series) Markup {
	if s.Ended == "" {
		return ""
	}
	x, anchor, beside := plot.byTime.At(s.Points[len(s.Points)-1].At)+4, "start", 4.0
	if x > innerWidth-60 {
		anchor, beside = "end", -4
	}
	return mark(`<path d="M%.1f %dv%d" stroke="currentColor" stroke-dasharray="3 3"/><text x="%.1f" y="%d" font-size="11" `+
		`text-anchor="%s">%s</text>`+"\n", x, samplesTop-3, samplesTall+6, x+beside, samplesTop+8, anchor, s.Ended)
}

// merged has a box for samples that follow each other and are not invalid.
func (plot samplesPlot) merged(s view.Series, at func(figure float64) float64) Markup {
	points := slices.DeleteFunc(slices.Clone(s.Points), func(p view.Point) bool { return !p.Good() })
	var b pieces
	for part := range slices.Chunk(points, max(1, (len(points)+plot.most-1)/plot.most)) {
		figures := make([]float64, len(part))
		for i, p := range part {
			figures[i] = p.Figure
		}
		slices.Sort(figures)
		n := len(figures)
		least, median, most := figures[0], stats.Median(figures), figures[n-1]
		b.add(`<g class="a"><title>%s: %s … %s, median %s</title>%s</g>`+"\n", units.Things(n, "sample"), plot.scale.Text(least),
			plot.scale.Text(most), plot.scale.Text(median),
			boxAt(plot.byTime.At(part[n/2].At), at(most), at(figures[3*(n-1)/4]), at(median), at(figures[(n-1)/4]), at(least)))
	}
	return b.whole()
}

// boxAt is a box with whiskers: the places of the greatest, of the ends of the box, of the median and of the least.
func boxAt(x, most, high, median, low, least float64) Markup {
	return mark(`<path d="M%.1f %.1fV%.1f" opacity=".6"/><rect x="%.1f" y="%.1f" width="4" height="%.1f" stroke="none"/>`+
		`<path d="M%.1f %.1fh6" stroke="currentColor" stroke-width="1.5"/>`, x, most, least, x-2, high, max(1, low-high), x-3, median)
}

// medianText is the median of a series, and the number of samples that it is of.
func medianText(s view.Series, scale view.Scale) string {
	switch d, n := s.Distribution(); n {
	case 0:
		return "no valid sample"
	case 1:
		return scale.Text(d.Median) + ", 1 sample"
	default:
		return fmt.Sprintf("median %s of %d", scale.Text(d.Median), n)
	}
}
