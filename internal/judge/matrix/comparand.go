package matrix

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// Comparand is one of the figures that a run judges.
type Comparand struct {
	result.JudgedFigure // Column is "" for wall seconds
	// Of returns the figure of a sample as a time, in seconds: of the whole sample or of one operation. For a metric it
	// returns the figure, or its inverse if higher is better: the inverse of operations per second is the time of one.
	// Without the figure, the result is not a positive number.
	Of      func(*result.Sample) float64
	raw     func(*result.Sample) (figure float64, known bool) // in its unit
	unit    column.Unit
	decides bool              // this figure decides when the run stops
	rate    bool              // Of returns inverses
	amount  bool              // Of returns no times
	cells   map[int]Comparand // the cells in which it is another figure
}

// of returns the figure in a cell, and in those that are compared with it.
func (f Comparand) of(cell int) Comparand {
	if other, is := f.cells[cell]; is {
		return other
	}
	return f
}

// dispatched returns the figure with each sample asked for the one in its cell.
func (f Comparand) dispatched() Comparand {
	own := func(s *result.Sample) Comparand {
		if s.Slot == nil {
			return f
		}
		return f.of(s.Cell)
	}
	by := f
	by.Of = func(s *result.Sample) float64 { return own(s).Of(s) }
	by.raw = func(s *result.Sample) (float64, bool) { return own(s).raw(s) }
	return by
}

// in returns the unit of the figure in a run.
func (f Comparand) in(run *result.Run) column.Unit {
	return cmp.Or(column.Printed(run.Units[f.Column]), f.unit)
}

// judgedBy returns the sample as judged by this figure: invalid if it lacks the figure. The experiment ensures that samples
// have the deciding figure.
func (f Comparand) judgedBy(s *result.Sample) *result.Sample {
	if invalid(s) || f.decides || f.known(s) {
		return s
	}
	lacks := *s
	lacks.Quality.Grade, lacks.Quality.Reasons = result.Invalid, []string{"the " + f.Label + " is not known"}
	return &lacks
}

// distribute summarises figures that Of returned, as they were measured: a rate is no inverse.
func (f Comparand) distribute(figures []float64) result.Distribution {
	if f.rate {
		figures = slices.Clone(figures)
		for i, figure := range figures {
			figures[i] = 1 / figure
		}
	}
	return result.Distribute(figures)
}

// lacks reports whether a sample cannot be judged by this figure.
func (f Comparand) lacks(s *result.Sample) bool { return invalid(f.judgedBy(s)) }

// has reports whether a sample was taken to its end and can be judged by this figure.
func (f Comparand) has(s *result.Sample) bool { return !s.Partial && !f.lacks(s) }

// known reports whether a sample has the figure.
func (f Comparand) known(s *result.Sample) bool {
	figure := f.Of(s)
	return figure > 0 && figure <= math.MaxFloat64
}

// Refusal returns why a sample of a cell that is not invalid cannot be compared by this figure; "": it can be.
func (f Comparand) Refusal(s *result.Sample) string {
	if invalid(s) || f.known(s) {
		return ""
	}
	of := f.of(s.Cell)
	lacks := "the " + cmp.Or(of.Label, of.Column, "time")
	if figure, known := f.raw(s); known {
		return fmt.Sprintf("%s is %v: only figures above 0 are compared", lacks, figure)
	}
	return lacks + " is not known"
}

// design returns what is fixed before a comparison by this figure; the comparisons share the run's error rate.
func (f Comparand) design(m *result.Matrix, comparisons int) stats.Design {
	return stats.Design{
		Alpha: m.Alpha, Margin: m.Margin, Precision: m.Precision, Comparisons: comparisons, Rate: f.rate, Amount: f.amount,
		Even: m.Rules < boldSince, Untied: m.Rules < bestSince, Strict: m.Rules < apartSince,
	}
}

func invalid(s *result.Sample) bool { return s.Quality.Grade == result.Invalid }

// Comparands returns the judged figures of a run; the first decides when it stops. A figure that decides in a cell is not judged
// there a second time. The columns are those of the run's experiment.
func Comparands(run *result.Run, columns column.List) ([]Comparand, error) {
	m := run.Matrix
	decides := figureOf(column.Wall, false)
	decides.JudgedFigure = result.JudgedFigure{}
	if m.Compared != "" {
		c, found := columns.Find(m.Compared)
		if !found {
			return nil, fmt.Errorf("the cells are compared by %s, which this gorun does not know", m.Compared)
		}
		decides = figureOf(c, m.Better == result.Higher)
	}
	decides.decides, decides.cells = true, map[int]Comparand{}
	for i, cell := range run.Cells {
		if cell.By == nil {
			continue
		}
		c, found := columns.By(*cell.By)
		if !found {
			return nil, fmt.Errorf("cell %d is judged by %s, which this gorun does not know", i, cell.By.Column)
		}
		figure := figureOf(c, c.Better == column.Higher)
		figure.JudgedFigure, figure.decides = *cell.By, true
		decides.cells[i] = figure
	}
	figures := []Comparand{decides.dispatched()}
	for _, f := range m.Figures {
		c, found := columns.Find(f.Column)
		if !found {
			return nil, fmt.Errorf("the cells are judged by %s, which this gorun does not know", f.Column)
		}
		figure := figureOf(c, cmp.Or(f.Better, string(c.Better)) == result.Higher)
		figure.JudgedFigure, figure.cells = f, map[int]Comparand{}
		for i, by := range decides.cells {
			if none := figure; by.Column == f.Column {
				none.Of, none.raw = func(*result.Sample) float64 { return 0 }, func(*result.Sample) (float64, bool) { return 0, false }
				figure.cells[i] = none
			}
		}
		figures = append(figures, figure.dispatched())
	}
	return figures, nil
}

// family returns how many of the figures are of a family.
func family(figures []Comparand, second bool) (n int) {
	for _, f := range figures {
		if f.Second == second {
			n++
		}
	}
	return n
}

func figureOf(c column.Column, rate bool) Comparand {
	f := Comparand{
		JudgedFigure: result.JudgedFigure{Column: c.Name, Label: c.Label}, rate: rate,
		amount: c.Unit != column.Seconds && c.Unit != column.Nanoseconds,
	}
	f.unit, f.raw = c.Unit, c.Number
	f.Of = func(s *result.Sample) float64 {
		figure, ok := c.Number(s)
		if !ok {
			figure = 0 // a text, or absent
		}
		switch {
		case c.Unit == column.Nanoseconds:
			return figure / 1e9
		case rate:
			return 1 / figure
		}
		return figure
	}
	return f
}
