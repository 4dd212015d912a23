package view

import (
	"math"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/units"
)

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

// Scale is the unit in which the medians are compared.
func (set SeriesSet) Scale() units.Scale {
	var medians []float64
	for _, s := range set.Series {
		if median, ok := s.Median(); ok {
			medians = append(medians, median)
		}
	}
	return units.ScaleOf(medians)
}

// tooLong is a time in seconds that no run takes, and that a drawing has no room for.
const tooLong = 1e18

// Series takes a run's samples apart, as its rows are.
func (s Shape) Series(run *result.Run) SeriesSet {
	set := SeriesSet{What: "wall time", Timed: len(run.Samples) > 0}
	if s.Compared.Name != "" {
		set.What = label(s.Compared)
	}
	for _, row := range s.rows(run) {
		series := Series{Name: row.Name}
		for i := range row.Samples {
			sample := &row.Samples[i]
			p := Point{Index: sample.Index, At: float64(sample.Index), Seconds: sample.Seconds, Verdict: sample.Quality.Verdict, Partial: sample.Partial}
			if s.Compared.Name != "" {
				ns, _ := s.Compared.Number(sample)
				p.Seconds = ns / 1e9
			}
			if sample.Slot != nil {
				p.At, p.Control = sample.Elapsed, sample.Control
			} else {
				set.Timed = false
			}
			// What was not measured, or no clock can show, is not drawn; its series is there.
			if p.Seconds > 1/tooLong && p.Seconds < tooLong && math.Abs(p.At) < tooLong {
				series.Points = append(series.Points, p)
			}
		}
		set.Series = append(set.Series, series)
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
