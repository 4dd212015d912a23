package chart

import (
	"cmp"
	"math"
	"slices"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/view"
	"gorun/internal/stats"
)

// timePart is a part of the time, and the class of its marks.
type timePart struct {
	name, label, class string
	of                 func(a *result.Account) uint64 // nanoseconds
}

// timeParts are those that add up to the wall time.
var timeParts = [...]timePart{
	{result.WhyRunning, "running", "a", func(a *result.Account) uint64 { return a.Running }},
	{result.WhyWaiting, "waiting for a CPU", "b", func(a *result.Account) uint64 { return a.Waiting }},
	{result.WhyBlocked, "blocked", "c", func(a *result.Account) uint64 { return a.Blocked }},
}

// inParts is the medians of the parts of a cell's time, in seconds.
type inParts struct {
	name    string
	against int // index of its baseline
	parts   [len(timeParts)]float64
	samples int
}

func (c inParts) sum() (seconds float64) {
	for _, x := range c.parts {
		seconds += x
	}
	return seconds
}

// cellsInParts returns the parts of each cell's time; a cell without samples that have an account has none.
func cellsInParts(run *result.Run) []inParts {
	titles := view.CellTitles(run)
	times := make([][len(timeParts)][]float64, len(run.Cells))
	for _, s := range run.Samples.Each() {
		if s.Account == nil || s.Slot == nil || !s.Good() {
			continue
		}
		for k, p := range timeParts {
			times[s.Cell][k] = append(times[s.Cell][k], float64(p.of(s.Account))/1e9)
		}
	}
	cells := make([]inParts, len(run.Cells))
	for i := range cells {
		cells[i] = inParts{name: titles[i], against: run.Against(i), samples: len(times[i][0])}
		for k := range timeParts {
			if cells[i].samples > 0 {
				cells[i].parts[k] = stats.Median(times[i][k])
			}
		}
	}
	return cells
}

const (
	partsRow = 48
	partTall = 14 // height of a cell's bar; that of its baseline, above it, is half of it
)

// TimeParts draws the parts of each cell's time as a bar, below that of its baseline. False if there is nothing to compare.
func TimeParts(run *result.Run) (Drawing, bool) {
	if run.Matrix == nil {
		return Drawing{}, false
	}
	all := cellsInParts(run)
	shown := slices.DeleteFunc(slices.Clone(all), func(c inParts) bool { return c.samples == 0 })
	if len(shown) < 2 {
		return Drawing{}, false
	}
	f := Drawing{
		Title: "Where the time goes",
		Description: "Each bar is a cell's time in its parts, by their medians. The thin bar above it is that of its baseline. " +
			"Medians of parts need not add up to the median of the whole.",
		Table: table.Table{Name: "parts", Title: "The parts of each cell's time: medians"},
	}
	f.Table.Add("cell")
	var legend []legendItem
	for _, p := range timeParts {
		f.Table.Add(p.label)
		legend = append(legend, legendItem{p.label, mark(`<path class="%s" d="M-8-4h16v8h-16z"/>`, p.class)})
	}
	f.Table.Add("samples")
	drawn := first(&f, shown, maxRows)
	sums := make([]float64, len(drawn))
	for i, c := range drawn {
		sums[i] = max(c.sum(), all[c.against].sum())
		values := []table.Value{table.Text(c.name)}
		for _, x := range c.parts {
			values = append(values, table.Seconds(x))
		}
		f.Table.Rows = append(f.Table.Rows, table.Row{Name: c.name, Values: append(values, table.Count(c.samples))})
	}
	axis := linear(0, slices.Max(sums), innerWidth)
	rows := make([]row, len(drawn))
	for i, c := range drawn {
		rows[i] = row{c.name, units.Seconds(c.sum()), axis.grid(partsRow)}
		if base := all[c.against]; base.name != c.name && base.samples > 0 {
			rows[i].drawn += base.bar(axis, rowNames, partTall/2)
		}
		rows[i].drawn += c.bar(axis, rowNames+partTall/2+2, partTall)
	}
	f.SVG = drawRows(f, legend, rows, partsRow, axis.labels(axis.times()), 26)
	return f, true
}

// times returns how ticks that are times are written.
func (a Axis) times() func(tick float64) string {
	sizes := make([]float64, len(a.Ticks))
	for i, tick := range a.Ticks {
		sizes[i] = math.Abs(tick)
	}
	return view.ScaleOfTimes(sizes).Tick
}

// bar draws the parts one after another.
func (c inParts) bar(axis Axis, y, tall int) Markup {
	var b pieces
	from := 0.0
	for k, p := range timeParts {
		to := from + c.parts[k]
		b.add(`<path class="%s" stroke="none" d="M%.1f %dH%.1fv%dH%.1fz"><title>%s: %s %s</title></path>`,
			p.class, axis.At(from), y, axis.At(to), tall, axis.At(from), c.name, p.label, units.Seconds(c.parts[k]))
		from = to
	}
	return b.whole() + "\n"
}

// fall is a step of a waterfall: where it begins, and the difference.
type fall struct {
	from float64
	result.Part
}

// ends are the least and the greatest place of a step, with its interval.
func (s fall) ends() (lo, hi float64) {
	lo, hi = s.from+min(0, s.Typical), s.from+max(0, s.Typical)
	if s.Lo != nil {
		lo = min(lo, s.from+*s.Lo)
	}
	if s.Hi != nil {
		hi = max(hi, s.from+*s.Hi)
	}
	return lo, hi
}

// falls are the parts of a difference, each from where the one before ends, what they leave, and the whole.
func falls(w *result.Why) (steps []fall) {
	at := 0.0
	add := func(p result.Part) {
		steps = append(steps, fall{at, p})
		at += p.Typical
	}
	for _, of := range timeParts {
		if p := w.Part(of.name); p != nil {
			add(*p)
		}
	}
	if left := w.Wall.Typical - at; math.Abs(left) > math.Abs(w.Wall.Typical)/100 {
		add(result.Part{Label: "left by the parts", Unit: result.WhySeconds, Shift: stats.Shift{Typical: result.Nanoseconds(left)}})
	}
	at = 0
	add(w.Wall)
	return steps
}

const (
	fallLabels = 120 // width of the labels of a waterfall
	fallTall   = 15
)

// Waterfall draws, of each cell whose time differs, the parts of the difference one after another, with their intervals. False if no cell
// has them.
func Waterfall(run *result.Run) (Drawing, bool) {
	f := Drawing{
		Title: "Why the time differs",
		Description: "Each bar is the difference of a part of the time from the baseline's. It begins where the one above it ends, so that " +
			"they lead to the difference of the whole. A line is an interval that holds the difference.",
		Table: table.Table{Name: "why", Title: "The parts of each difference"},
	}
	f.Table.Add("cell", "part", "difference", "interval")
	titles := view.CellTitles(run)
	var names []string
	var all [][]fall
	for i, cell := range run.Cells {
		if cell.Why != nil && len(cell.Why.Parts) > 0 {
			names, all = append(names, titles[i]), append(all, falls(cell.Why))
		}
	}
	if len(all) == 0 {
		return Drawing{}, false
	}
	all = first(&f, all, maxRows)
	var ends []float64
	most := 0
	for i, steps := range all {
		most = max(most, len(steps))
		for _, s := range steps {
			lo, hi := s.ends()
			ends = append(ends, lo, hi)
			f.Table.Rows = append(f.Table.Rows, table.Row{Name: names[i], Values: []table.Value{
				table.Text(names[i]), table.Text(s.Label), table.Text(s.Centre()), table.Text(s.Interval()),
			}})
		}
	}
	axis := linear(min(0, slices.Min(ends)), max(0, slices.Max(ends)), innerWidth-fallLabels).moved(fallLabels)
	tall := rowNames + most*fallTall + 6
	ground := axis.grid(tall) + mark(`<path d="M%.1f %dv%d" stroke="currentColor"/>`+"\n", axis.At(0), rowNames-3, tall-rowNames+3)
	rows := make([]row, len(all))
	for i, steps := range all {
		rows[i] = row{names[i], steps[len(steps)-1].Centre(), ground}
		for k, s := range steps {
			rows[i].drawn += s.draw(axis, rowNames+k*fallTall)
		}
	}
	f.SVG = drawRows(f, nil, rows, tall, axis.labels(axis.times()), 26)
	return f, true
}

// draw draws a step in the ink of its part; what is longer or shorter in all is better or worse.
func (s fall) draw(axis Axis, y int) Markup {
	ink := map[bool]string{true: string(table.Good), false: string(table.Bad)}[s.Typical < 0]
	if k := slices.IndexFunc(timeParts[:], func(p timePart) bool { return p.name == s.Name }); k >= 0 {
		ink = timeParts[k].class
	}
	var b pieces
	const middle, half = fallTall / 2, 4
	b.add(`<text x="0" y="%d" font-size="10.5">%s</text>`, y+middle+4, snipped(cmp.Or(s.Label, s.Name), fallLabels, 5.4))
	b.add(`<g class="%s"><title>%s: %s</title>`, ink, s.Label, s.Words())
	b.add(`<path stroke="none" opacity=".75" d="M%.1f %dH%.1fv%dH%.1[1]fz"/>`, axis.At(s.from), y+middle-half, axis.At(s.from+s.Typical), 2*half)
	if s.Lo != nil && s.Hi != nil {
		b.add(`<path stroke-width="2" d="M%.1f %dH%.1f"/>`, axis.At(s.from+*s.Lo), y+middle, axis.At(s.from+*s.Hi))
	}
	return b.whole() + "</g>\n"
}
