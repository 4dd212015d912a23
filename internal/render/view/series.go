package view

import (
	"fmt"
	"slices"
	"strings"

	"gorun/internal/column"
	"gorun/internal/render/term"
	"gorun/internal/result"
)

func RowName(row int) string { return fmt.Sprintf("[%02d]", row) }

// Series are the samples of one cell, or of what stands for cells where a run has none, in the order in which they were
// taken.
type Series struct {
	Name   string
	Points []Point
}

// Point is a sample of a series.
type Point struct {
	Index   int
	At      float64 // seconds since the run began, or where that is not known, the sample's place among all
	Seconds float64 // what is compared
	Verdict result.Verdict
	Control bool // of the baseline's duplicate
	Partial bool
}

// Good tells whether a point counts for a median.
func (p Point) Good() bool { return !p.Partial && p.Verdict != result.Invalid }

// SeriesSet is every series of a run.
type SeriesSet struct {
	What   string // is compared: "wall time"
	Timed  bool   // Point.At is a time
	Series []Series
}

// Compared is the figure of a sample that is compared, and what tells samples apart where a run has no cells. The zero
// value is wall time, of all samples alike.
type Compared struct {
	Figure column.Column                        // in ns; the zero Column: wall time
	Name   func(s *result.Sample) (string, int) // of the series that a sample is of, and its row; 0: there are no rows
	// Heading is that of the figure where a run's cells are judged by their wall time; "": it is not shown of these.
	Heading string
}

// SeriesOf takes a run's samples apart. Without cells, the series come in the order of their rows, where samples have
// rows, and of their names' first sample.
func (c Compared) SeriesOf(run *result.Run) SeriesSet {
	byWall := run.Matrix != nil && (run.Matrix.Datum == "" || run.Matrix.Datum == result.DatumMetric)
	own := c.Figure.Name != "" && (!byWall || c.Heading != "")
	if c.Name == nil {
		c.Name = func(*result.Sample) (string, int) { return "all samples", 0 }
	}
	what := "wall time"
	if own {
		what = c.Figure.Label
	}
	set := SeriesSet{What: what, Timed: len(run.Samples) > 0}
	at := map[string]int{}
	row := map[string]int{}
	titles := CellTitles(run)
	for _, name := range titles {
		set.Series = append(set.Series, Series{Name: name})
	}
	for i := range run.Samples {
		s := &run.Samples[i]
		p := Point{Index: s.Index, At: float64(i), Seconds: s.Seconds, Verdict: s.Quality.Verdict, Partial: s.Partial}
		if own {
			ns, ok := c.Figure.Number(s)
			if !ok {
				continue
			}
			p.Seconds = ns / 1e9
		}
		n := 0
		if s.Slot != nil && len(titles) > 0 {
			if n = s.Cell; n < 0 || n >= len(titles) {
				continue
			}
		} else {
			name, place := c.Name(s)
			name = term.Clean(name)
			known := false
			if n, known = at[name]; !known {
				n = len(set.Series)
				at[name], row[name] = n, place
				set.Series = append(set.Series, Series{Name: name})
			}
		}
		if !(p.Seconds > 0 && p.Seconds < 1e18) { // nothing was measured, or it cannot be drawn; its series is there
			continue
		}
		if s.Slot != nil {
			p.At, p.Control = s.Elapsed, s.Control
		} else {
			set.Timed = false
		}
		set.Series[n].Points = append(set.Series[n].Points, p)
	}
	if len(titles) == 0 {
		slices.SortStableFunc(set.Series, func(a, b Series) int { return row[a.Name] - row[b.Name] })
	}
	return set
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
			all = append(all, p.Seconds)
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
