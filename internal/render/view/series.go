package view

import (
	"fmt"
	"slices"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/units"
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

// datum is the figure of a sample that is compared, in ns, and what tells the samples apart where there are no cells.
type datum struct {
	experiment string
	value      string
	what       string
	name       func(s *result.Sample) string
}

// datums are those of the experiments whose datum is not their wall time.
var datums = [...]datum{
	{"contend", "ns_per_op", "time of an operation", contendSeries},
	{"c2c", "ns", "time one way", func(s *result.Sample) string { return word(s, "relation") }},
	{
		"numa", "ns_per_access", "time of an access",
		func(s *result.Sample) string { return RowName(int(number(s, "row"))) },
	},
}

func datumOf(run *result.Run) datum {
	for _, d := range datums {
		if d.experiment == run.Experiment {
			return d
		}
	}
	return datum{what: "wall time", name: func(*result.Sample) string { return "all samples" }}
}

func number(s *result.Sample, name string) float64 {
	x, _ := s.Values.Number(name)
	return x
}

func word(s *result.Sample, name string) string {
	text, _ := s.Values.Text(name)
	return text
}

func contendSeries(s *result.Sample) string {
	name := fmt.Sprintf("%s on %s (%s)", word(s, "op"), units.Things(int(number(s, "cpus")), "CPU"), word(s, "cpu_list"))
	if dist := number(s, "dist_bytes"); dist > 0 {
		name += fmt.Sprintf(", words %.0f B apart", dist)
	}
	return name
}

// SeriesOf takes a run's samples apart. Without cells, the series come in the order of their names' first sample, those
// of `gorun contend` in the order of its rows.
func SeriesOf(run *result.Run) SeriesSet {
	d := datumOf(run)
	set := SeriesSet{What: d.what, Timed: len(run.Samples) > 0}
	at := map[string]int{}
	row := map[string]float64{}
	titles := CellTitles(run)
	if run.Matrix != nil && run.Experiment != "numa" && (run.Matrix.Datum == "" || run.Matrix.Datum == result.DatumMetric) {
		d.value, set.What = "", "wall time"
	}
	for _, name := range titles {
		set.Series = append(set.Series, Series{Name: name})
	}
	for i := range run.Samples {
		s := &run.Samples[i]
		p := Point{Index: s.Index, At: float64(i), Seconds: s.Seconds, Verdict: s.Quality.Verdict, Partial: s.Partial}
		if d.value != "" {
			ns, ok := s.Values.Number(d.value)
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
			name := term.Clean(d.name(s))
			known := false
			if n, known = at[name]; !known {
				n = len(set.Series)
				at[name], row[name] = n, number(s, "row")
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
		slices.SortStableFunc(set.Series, func(a, b Series) int { return int(row[a.Name]) - int(row[b.Name]) })
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

// CellTitles are the names of a run's cells. The rows of `gorun numa` are called by number, so what tells them apart
// stands after it.
func CellTitles(run *result.Run) []string {
	flags, differ := CellFlags(run.Cells)
	titles := make([]string, len(run.Cells))
	for i, cell := range run.Cells {
		parts := []string{cell.Name}
		if len(run.NumaRows) > 0 {
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
