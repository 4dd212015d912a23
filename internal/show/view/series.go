package view

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/term"
	"gorun/internal/stats"
)

// Series are the samples of one cell, or of what stands for cells where a run has none, in the order in which they were
// taken.
type Series struct {
	Name   string
	Points []Point
	Ended  string // why it has no samples of the last rounds; "": it has some
}

// Point is a sample of a series.
type Point struct {
	Index   int
	At      float64 // seconds since the run began, or where that is not known, the sample's place among all
	Figure  float64 // what is compared
	Grade   result.Grade
	Control bool // of the baseline's duplicate
	Partial bool
}

// Good tells whether a point counts for a median.
func (p Point) Good() bool { return !p.Partial && p.Grade != result.Invalid }

// SeriesSet is every series of a run.
type SeriesSet struct {
	What   string      // is compared: "wall time"
	Of     string      // the program whose figure it is; "": none that is known
	Unit   column.Unit // of the figures
	Timed  bool        // Point.At is a time
	Series []Series
}

// Subject names the figure and whose it is: "the rps of redis-server".
func (set SeriesSet) Subject() string { return subject(set.What, set.Of) }

// Subject names the figure that is compared, and whose it is.
func (s Shape) Subject(run *result.Run) string { return subject(FigureOf(run, s.compared(run))) }

func subject(what, of string) string {
	if of == "" {
		return what
	}
	return "the " + what + " of " + of
}

// Value is a figure of the set.
func (set SeriesSet) Value(figure float64) table.Value {
	return table.Number{X: figure, Unit: set.Unit}
}

// show writes a figure that is compared with no other.
func (set SeriesSet) show(figure float64) string { return table.Format(set.Unit, figure) }

// much is what a factor of the figures says: "3 times as long".
func (set SeriesSet) much() string {
	if set.Unit == column.Seconds {
		return "long"
	}
	return "much"
}

// Scale writes figures so that a reader can compare them at sight.
type Scale struct {
	units.Scale             // of times
	unit        column.Unit // of the figures
}

// ScaleOfTimes returns the scale for these durations in seconds.
func ScaleOfTimes(seconds []float64) Scale { return Scale{units.ScaleOf(seconds), column.Seconds} }

// Text writes a figure with its unit.
func (s Scale) Text(figure float64) string {
	if s.unit == column.Seconds {
		return s.Scale.Text(figure)
	}
	return table.Format(s.unit, figure)
}

// Tick writes a round figure with its unit.
func (s Scale) Tick(figure float64) string {
	if s.unit != column.Seconds {
		return table.Format(s.unit, figure)
	}
	x := s.In(figure)
	if digits := strconv.FormatFloat(x, 'f', -1, 64); len(digits) <= 6 {
		return digits + " " + s.Unit
	}
	return strconv.FormatFloat(x, 'g', 4, 64) + " " + s.Unit
}

// Scale is the unit in which the medians are compared.
func (set SeriesSet) Scale() Scale {
	var medians []float64
	for _, s := range set.Series {
		if median, ok := s.Median(); ok {
			medians = append(medians, median)
		}
	}
	return Scale{units.ScaleOf(medians), set.Unit}
}

// tooLong is a time in seconds that no run takes, and that a drawing has no room for.
const tooLong = 1e18

// compared returns the figure by which a run was judged, or by which its rows are compared where nothing was.
func (s Shape) compared(run *result.Run) (c column.Column) {
	if c = s.Compared; Judged(run) {
		c, _ = s.Columns.Find(run.Matrix.Compared)
		first := run.Cells[0].By
		if first != nil && !slices.ContainsFunc(run.Cells, func(of result.Cell) bool { return of.By == nil || *of.By != *first }) {
			c, _ = s.Columns.By(*first)
		}
	}
	if c.Name == "" {
		c = column.Wall
	}
	return c
}

// Judged reports whether the cells of a run are compared with a baseline.
func Judged(run *result.Run) bool { return run.Matrix != nil && run.Matrix.Order.Design != result.Rows }

// FigureOf returns the name of the figure of a column, and the program whose figure it is: "" where the figure is not a program's own,
// or the program has no name.
func FigureOf(run *result.Run, c column.Column) (what, of string) {
	switch c.Name {
	case column.Wall.Name:
		return "wall time", ""
	case result.MetricColumn:
		return run.MetricName(), Program(run)
	}
	return label(c), ""
}

// Program returns the name of the program that a run is about, without its folder and arguments: that of the command, or of the
// program that runs already. "": there are several, or none.
func Program(run *result.Run) string {
	name, _, _ := strings.Cut(OptionsOf(run.Spec).Text("program"), ", ")
	if name == "" {
		for i := range run.Cells {
			command := run.Cells[i].Command
			at := slices.Index(command, "--")
			if at < 0 || at+1 == len(command) || i > 0 && path.Base(command[at+1]) != name {
				return ""
			}
			name = path.Base(command[at+1])
		}
	}
	const most = 20 // in a title
	return term.Snip(term.Clean(name), most)
}

// Series takes a run's samples apart, as its rows are.
func (s Shape) Series(run *result.Run) SeriesSet {
	compared := s.compared(run)
	set := SeriesSet{Unit: compared.Unit, Timed: run.Samples.Len() > 0}
	set.What, set.Of = FigureOf(run, compared)
	if set.Unit == column.Nanoseconds {
		set.Unit = column.Seconds
	}
	rounds := 0
	for _, s := range run.Samples.Each() {
		if slot := s.Slot; slot != nil {
			rounds = max(rounds, slot.Round+1)
		}
	}
	for _, row := range s.rows(run) {
		series, mine := Series{Name: row.Name}, 0
		for _, sample := range row.all.Each() {
			p := Point{Index: sample.Index, At: float64(sample.Index), Grade: sample.Quality.Grade, Partial: sample.Partial}
			if p.Figure, _ = compared.Number(sample); compared.Unit == column.Nanoseconds {
				p.Figure /= 1e9
			}
			if sample.Slot != nil {
				p.At, p.Control, mine = sample.Elapsed, sample.Control, max(mine, sample.Round+1)
			} else {
				set.Timed = false
			}
			// What was not measured, or no clock can show, is not drawn; its series is there.
			if p.Figure > 1/tooLong && p.Figure < tooLong && math.Abs(p.At) < tooLong {
				series.Points = append(series.Points, p)
			}
		}
		if Judged(run) && row.Cell >= 0 && mine < rounds {
			series.Ended = endOf(run.Cells[row.Cell])
		}
		set.Series = append(set.Series, series)
	}
	return set
}

// endOf says why a cell was sampled less often than others.
func endOf(cell result.Cell) string {
	switch v := cell.Verdict; {
	case v == nil:
		return ""
	case v.Kind == stats.Invalid || v.Reason != "":
		return "given up"
	}
	return "decided"
}

// Median is that of the good samples; false where there is none.
func (s Series) Median() (float64, bool) {
	d, n := s.Distribution()
	return d.Median, n > 0
}

// Distribution is that of the good samples, and how many they are.
func (s Series) Distribution() (result.Distribution, int) {
	var all []float64
	for _, p := range s.Points {
		if p.Good() {
			all = append(all, p.Figure)
		}
	}
	return result.Distribute(all), len(all)
}

// CellTitles are the names of a run's cells. Of rows that are called by number, what tells them apart stands after it.
func CellTitles(run *result.Run) []string {
	flags, differ := CellFlags(run.Cells)
	titles := make([]string, len(run.Cells))
	for i, cell := range run.Cells {
		parts := []string{cell.Name}
		if cell.Flags["row"] != "" {
			for _, flag := range flags {
				if differ[flag] && flag != "row" {
					parts = append(parts, flag+" "+cell.Flags[flag])
				}
			}
		}
		titles[i] = term.Clean(strings.Join(parts, " · "))
	}
	return titles
}
