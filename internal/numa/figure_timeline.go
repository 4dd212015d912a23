package numa

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/render/chart"
	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/topology"
	"gorun/internal/units"
)

// moveKind is a kind of migration, by the relation of the CPUs.
type moveKind struct {
	relation topology.Relation
	title    string
	colour   string // of curveColours
	of       func(m *result.Migrations) uint64
}

// moveKinds come nearest first.
var moveKinds = [...]moveKind{
	{topology.SameCore, "same core", "#56b4e9", func(m *result.Migrations) uint64 { return m.SameCore }},
	{topology.SameLLC, "same LLC", "#009e73", func(m *result.Migrations) uint64 { return m.SameLLC }},
	{topology.SameNode, "same node", "#e69f00", func(m *result.Migrations) uint64 { return m.SameNode }},
	{topology.CrossNode, "cross node", "#d55e00", func(m *result.Migrations) uint64 { return m.CrossNode }},
}

func allMoves(m *result.Migrations) uint64 { return m.Total }

const (
	laneWidth = chart.Inside - chart.LaneLeft
	laneStep  = 24
	laneBins  = 80 // bins of a lane, 3.8 units each; the moves in a bin are one mark
)

// lane is a row of the timeline: one sample of a row of the run.
type lane struct {
	row     *measuredRow
	seconds float64
	moves   []result.NumaMove // moves to draw, in the order of time
}

// drawTimeline draws the times and distances of the probe's moves between CPUs, for the sample of each row with the
// median number of moves. Its table has the mean counts. It returns false if no sample has its moves.
func drawTimeline(run *result.Run) (chart.Figure, bool) {
	if run.Experiment != "numa" {
		return chart.Figure{}, false
	}
	run = term.Clean(run)
	rows := moved(figureRows(run))
	var lanes []lane
	for i := range rows {
		if l, ok := laneOf(&rows[i]); ok {
			lanes = append(lanes, l)
		}
	}
	if len(lanes) == 0 {
		return chart.Figure{}, false
	}
	f := chart.Figure{
		Title: "Migrations of the probe over time",
		Description: "A line is the sample of a row whose number of moves is the median; a mark is a move to another CPU," +
			" the higher the further away. Moves too near to each other share one mark.",
		Table: chart.FigureTable{Caption: "Migrations a sample, mean", Head: []string{"row"}},
	}
	differ := differing(plainRows(rows))
	for _, kind := range moveKinds {
		f.Table.Head = append(f.Table.Head, kind.title)
	}
	f.Table.Head = append(f.Table.Head, "total")
	for i := range rows {
		cells := []string{rows[i].label(differ)}
		for _, kind := range moveKinds {
			cells = append(cells, units.Exact(rows[i].meanMoves(kind.of)))
		}
		f.Table.Rows = append(f.Table.Rows, append(cells, units.Exact(rows[i].meanMoves(allMoves))))
	}
	if more := len(lanes) - chart.MaxLanes; more > 0 {
		lanes = lanes[:chart.MaxLanes]
		f.Description += fmt.Sprintf(" The last %s are not drawn.", units.Things(more, "row"))
	}

	end := 0.0
	for _, l := range lanes {
		end = max(end, l.seconds)
	}
	time := chart.Linear(0, end, laneWidth)
	var b strings.Builder
	fmt.Fprintf(&b, `<g transform="translate(%d 8)">`+"\n", chart.Margin+chart.LaneLeft)
	tall := len(lanes) * laneStep
	b.WriteString(svgTimeAxis(time, tall))
	for i, l := range lanes {
		fmt.Fprintf(&b, `<g transform="translate(0 %d)">`+"\n%s</g>\n", (i+1)*laneStep, l.draw(differ, time))
	}
	b.WriteString("</g>\n")
	names := make([]string, len(moveKinds))
	for i, kind := range moveKinds {
		names[i] = kind.title
	}
	legend, under := chart.DrawLegend(names, func(i int) string {
		return fmt.Sprintf(`d="M14 0v-%d" stroke="%s" stroke-width="4"`, 4+3*i, moveKinds[i].colour)
	})
	fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n%s</g>\n", chart.Margin, tall+54, legend)
	f.SVG = chart.Frame(f, chart.CPUModel(run.Host), tall+54+under, b.String())
	return f, true
}

// markHeight returns the height of a move's mark in a lane.
func markHeight(kind int) int { return 4 + 5*kind }

// kindOf returns the index of a move's kind; an unknown relation counts as the nearest.
func kindOf(relation string) int {
	return max(0, slices.IndexFunc(moveKinds[:], func(kind moveKind) bool { return kind.relation.String() == relation }))
}

// label names a row by its number and by the values in which rows differ.
func (p *measuredRow) label(differ [len(rowAxes)]bool) string {
	words := []string{p.name()}
	for n, axis := range rowAxes {
		if differ[n] {
			words = append(words, axis.key+" "+axis.of(&p.NumaRow))
		}
	}
	return strings.Join(words, " ")
}

// laneOf returns the sample with the median number of moves among those of a row that have their moves; false if none
// has.
func laneOf(row *measuredRow) (l lane, ok bool) {
	var shown []lane
	for i, v := range row.samples {
		if v.Migrations == nil || v.Migrations.Total > 0 && len(v.Timeline) == 0 {
			continue // the moves were counted but not kept
		}
		l := lane{row: row, seconds: row.seconds[i]}
		for _, move := range v.Timeline {
			if move.Seconds >= 0 && move.Seconds <= l.seconds && chart.Drawable(move.Seconds) {
				l.moves = append(l.moves, move)
			}
		}
		slices.SortStableFunc(l.moves, func(a, b result.NumaMove) int { return cmp.Compare(a.Seconds, b.Seconds) })
		shown = append(shown, l)
	}
	return stats.Middle(shown, func(l lane) int { return len(l.moves) }), len(shown) > 0
}

// draw returns one mark per move, above y = 0. Moves too near to each other share one mark, of the furthest kind.
func (l lane) draw(differ [len(rowAxes)]bool, time chart.Axis) string {
	name := l.row.label(differ)
	var b strings.Builder
	fmt.Fprintf(&b, `<g><title>%s: %s in %s</title><text x="-8" y="-1" text-anchor="end">%s</text>`+
		`<path d="M0 0H%.1f" stroke="currentColor" opacity=".5"/></g>`+"\n", html.EscapeString(name),
		units.Things(len(l.moves), "move"), units.Seconds(l.seconds), chart.Text(name, chart.LaneLeft-8, 6),
		time.At(l.seconds))
	var marks [len(moveKinds)]strings.Builder
	bin := func(move result.NumaMove) int { return int(time.At(move.Seconds) / laneWidth * laneBins) }
	for i := 0; i < len(l.moves); {
		first, furthest := i, 0
		for i < len(l.moves) && bin(l.moves[i]) == bin(l.moves[first]) {
			furthest = max(furthest, kindOf(l.moves[i].Relation))
			i++
		}
		fmt.Fprintf(&marks[furthest], `<path d="M%.1f 0v-%d"><title>%s</title></path>`, time.At(l.moves[first].Seconds),
			markHeight(furthest), html.EscapeString(describeMoves(l.moves[first:i])))
	}
	for i, kind := range moveKinds {
		if marks[i].Len() > 0 {
			fmt.Fprintf(&b, `<g stroke="%s" stroke-width="2">%s</g>`+"\n", kind.colour, marks[i].String())
		}
	}
	return b.String()
}

// describeMoves describes a single move, or the number of moves of each kind.
func describeMoves(moves []result.NumaMove) string {
	first := moves[0]
	if len(moves) == 1 {
		return fmt.Sprintf("%s: CPU %d to %d, %s", units.Seconds(first.Seconds), first.From, first.To, first.Relation)
	}
	var counts [len(moveKinds)]int
	for _, move := range moves {
		counts[kindOf(move.Relation)]++
	}
	var parts []string
	for i, n := range counts {
		if n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+moveKinds[i].title)
		}
	}
	return fmt.Sprintf("%s to %s: %s", units.Seconds(first.Seconds), units.Seconds(moves[len(moves)-1].Seconds),
		strings.Join(parts, ", "))
}

// svgTimeAxis draws the seconds below lanes of this total height.
func svgTimeAxis(time chart.Axis, tall int) string {
	var b strings.Builder
	for _, tick := range time.Ticks {
		fmt.Fprintf(&b, `<path d="M%.1f 0v%d" stroke="currentColor" opacity=".15"/>`+
			`<text x="%.1[1]f" y="%[3]d" text-anchor="middle">%[4]s</text>`+"\n", time.At(tick), tall+4, tall+18,
			chart.TickText(tick))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">seconds</text>`+"\n", laneWidth, tall+33)
	return b.String()
}
