package chart

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/units"
)

const (
	samplesLeft   = 84 // of the figures beside the axis
	samplesPlot   = 430
	samplesGap    = 24
	samplesCounts = 120 // width of the distribution
	samplesTall   = 70
	samplesPanel  = samplesTall + 44 // with its name
	samplesMarks  = 2000             // up to which each sample is a mark of its own
	samplesPanels = 100
	samplesBins   = 14 // of a distribution
)

// stretch is some samples of a series that follow each other, where there are too many to draw each.
type stretch struct {
	from, to  view.Point
	samples   int
	low, high float64
	median    float64
}

// SamplePanels draws the samples of each cell in the order in which they were taken, all over the same time, so that a
// drift is seen and what else it struck; and beside it how they are distributed. Of more than samplesMarks samples,
// stretches of neighbours are drawn by their least, median and greatest.
func SamplePanels(set view.SeriesSet) (Figure, bool) {
	set.Series = slices.DeleteFunc(set.Series, func(s view.Series) bool { return len(s.Points) == 0 })
	total := 0
	for _, s := range set.Series {
		total += len(s.Points)
	}
	if total < 2 {
		return Figure{}, false
	}
	joined := total > samplesMarks
	f := Figure{Title: "The samples in the order in which they were taken: " + set.What}
	f.Description = "Each mark is a sample: ● valid, ▲ suspect, ✕ invalid, ○ of the baseline's duplicate. " +
		"The line is the median; the bars count the valid and suspect samples."
	drawn := set.Series[:min(len(set.Series), samplesPanels)]
	each := min(samplesPlot/2, max(8, samplesMarks/len(drawn)))
	at := "place"
	if set.Timed {
		at = "seconds since the start"
	}
	f.Table = FigureTable{
		Caption: "The samples in the order in which they were taken: " + set.What + " in seconds",
		Head:    []string{"cell", "sample", at, "seconds", "verdict"},
	}
	if joined {
		f.Description = "Each bar is a stretch of samples that follow each other: its ends are the least and the greatest, " +
			"its dot the median of those that are not invalid. The line is the median of all; the bars beside count the samples."
		f.Table.Head = []string{"cell", "samples", at + ", from", "to", "least", "median", "greatest"}
	}
	if hidden := len(set.Series) - len(drawn); hidden > 0 {
		f.Description += fmt.Sprintf(" The first %d are drawn, and %d are not.", len(drawn), hidden)
	}
	for _, s := range drawn {
		if !joined {
			for _, p := range s.Points {
				f.Table.Rows = append(f.Table.Rows,
					[]string{s.Name, strconv.Itoa(p.Index), units.Exact(p.At), units.Exact(p.Seconds), pointWords(p)})
			}
			continue
		}
		for _, part := range stretches(s.Points, each) {
			f.Table.Rows = append(f.Table.Rows, []string{
				s.Name, strconv.Itoa(part.samples), units.Exact(part.from.At), units.Exact(part.to.At), units.Exact(part.low),
				units.Exact(part.median), units.Exact(part.high),
			})
		}
	}
	f.SVG = samplesSVG(set, drawn, joined, each, f)
	return f, true
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

func samplesSVG(set view.SeriesSet, drawn []view.Series, joined bool, each int, f Figure) string {
	first, last := math.Inf(1), math.Inf(-1)
	for _, s := range drawn {
		for _, p := range s.Points {
			first, last = min(first, p.At), max(last, p.At)
		}
	}
	byTime := Linear(min(0, first), last, samplesPlot)
	if !set.Timed {
		byTime = whole(min(0, first), last, samplesPlot)
	}
	top := svgHeading + 12
	bottom := top + len(drawn)*samplesPanel
	var b strings.Builder
	b.WriteString(openSVG(samplesLeft+samplesPlot+samplesGap+samplesCounts+Margin, bottom+30, f.Title, f.Description))
	b.WriteString(svgInks)
	for i, s := range drawn {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", samplesLeft, top+i*samplesPanel)
		b.WriteString(samplesRow(s, byTime, joined, each) + "</g>\n")
	}
	fmt.Fprintf(&b, `<g transform="translate(%d %d)" font-size="11">`+"\n", samplesLeft,
		bottom-samplesPanel+samplesTall+24)
	for _, tick := range byTime.Ticks {
		fmt.Fprintf(&b, `<text x="%.1f" y="16" text-anchor="middle">%s</text>`+"\n", byTime.At(tick), TickText(tick))
	}
	unit := "place of the sample in the run"
	if set.Timed {
		unit = "seconds since the run began"
	}
	fmt.Fprintf(&b, `<text x="%d" y="32" text-anchor="end">%s</text><text x="%d" y="16">samples</text></g>`+"\n",
		samplesPlot, unit, samplesPlot+samplesGap)
	return b.String() + "</svg>\n"
}

// samplesRow is the panel of one series: its samples, and their distribution beside them over the same axis.
func samplesRow(s view.Series, byTime Axis, joined bool, each int) string {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range s.Points {
		lo, hi = min(lo, p.Seconds), max(hi, p.Seconds)
	}
	show := units.CommonUnit([]float64{lo, hi})
	if !(hi > lo) {
		lo, hi = lo*0.99, hi*1.01
	}
	if !(hi > lo) {
		hi = lo + 1
	}
	at := func(x float64) float64 { return samplesTall - (x-lo)/(hi-lo)*samplesTall }
	var b strings.Builder
	fmt.Fprintf(&b, `<text x="%d" y="12" font-weight="600">%s<title>%s</title></text><g transform="translate(0 24)">`+"\n",
		Margin-samplesLeft, html.EscapeString(term.Snip(s.Name, 88)), html.EscapeString(s.Name))
	fmt.Fprintf(&b, `<rect x="0" y="-3" width="%d" height="%d" opacity=".05"/>`+"\n", samplesPlot, samplesTall+6)
	for _, tick := range byTime.Ticks {
		fmt.Fprintf(&b, `<path d="M%.1f -3v%d" stroke="currentColor" opacity=".12"/>`, byTime.At(tick), samplesTall+6)
	}
	label := func(x, y float64) {
		fmt.Fprintf(&b, `<text x="-6" y="%.1f" text-anchor="end" font-size="11">%s</text>`+"\n", y+4, show(x))
	}
	label(hi, 0)
	label(lo, samplesTall)
	if median, ok := s.Median(); ok {
		y := at(median)
		fmt.Fprintf(&b, `<path d="M0 %.1fh%d" stroke="currentColor" opacity=".7"><title>median %s</title></path>`+"\n", y,
			samplesPlot+samplesGap+samplesCounts, units.Seconds(median))
		if y > 13 && y < samplesTall-13 {
			label(median, y)
		}
	}
	if joined {
		b.WriteString(svgStretches(stretches(s.Points, each), byTime, at))
	} else {
		b.WriteString(svgPoints(s.Points, byTime, at))
	}
	b.WriteString(svgCounts(s, lo, hi))
	return b.String() + "</g>"
}

// svgPoints has a mark a sample, told apart by shape as well as by colour.
func svgPoints(points []view.Point, byTime Axis, at func(float64) float64) string {
	var b strings.Builder
	for _, p := range points {
		x, y := byTime.At(p.At), at(p.Seconds)
		words := pointWords(p)
		switch {
		case p.Verdict == result.Invalid || p.Partial:
			fmt.Fprintf(&b, `<path class="c" stroke-width="1.5" d="M%.1f %.1fl5 5m0-5l-5 5">`, x-2.5, y-2.5)
		case p.Verdict == result.Suspect:
			fmt.Fprintf(&b, `<path class="b" d="M%.1f %.1fl3.2 5.6h-6.4z">`, x, y-3.5)
		case p.Control:
			fmt.Fprintf(&b, `<path class="a hollow" d="M%.1f %.1fa2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0">`, x-2.5, y)
		default:
			fmt.Fprintf(&b, `<path class="a" d="M%.1f %.1fa2 2 0 1 0 4 0a2 2 0 1 0-4 0">`, x-2, y)
		}
		fmt.Fprintf(&b, "<title>sample %d: %s, %s</title></path>\n", p.Index, units.Seconds(p.Seconds),
			html.EscapeString(words))
	}
	return b.String()
}

// svgStretches has a bar a stretch, from its least to its greatest sample, and a dot at its median.
func svgStretches(all []stretch, byTime Axis, at func(float64) float64) string {
	var b strings.Builder
	for _, s := range all {
		x := (byTime.At(s.from.At) + byTime.At(s.to.At)) / 2
		fmt.Fprintf(&b, `<g class="a"><title>%s: %s … %s, median %s</title><path d="M%.1f %.1fV%.1f"/>`+
			`<circle cx="%.1[5]f" cy="%.1[8]f" r="1.6"/></g>`+"\n", units.Things(s.samples, "sample"), units.Seconds(s.low),
			units.Seconds(s.high), units.Seconds(s.median), x, at(s.low), at(s.high), at(s.median))
	}
	return b.String()
}

// svgCounts is the distribution of the good samples: a bar a range of times.
func svgCounts(s view.Series, lo, hi float64) string {
	var counts [samplesBins]int
	most := 0
	for _, p := range s.Points {
		if p.Good() {
			bin := min(samplesBins-1, int((p.Seconds-lo)/(hi-lo)*samplesBins))
			counts[bin]++
			most = max(most, counts[bin])
		}
	}
	const tall = float64(samplesTall) / samplesBins
	var b strings.Builder
	step := (hi - lo) / samplesBins
	for bin, n := range counts {
		if n == 0 {
			continue
		}
		fmt.Fprintf(&b, `<rect class="a" x="%d" y="%.1f" width="%.1f" height="%.1f" opacity=".75">`+
			"<title>%s between %s and %s</title></rect>\n", samplesPlot+samplesGap, samplesTall-float64(bin+1)*tall,
			float64(n)/float64(most)*(samplesCounts-26), tall-0.6, units.Things(n, "sample"),
			units.Seconds(lo+float64(bin)*step), units.Seconds(lo+float64(bin+1)*step))
	}
	return b.String()
}
