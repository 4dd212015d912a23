package matrix

import (
	"fmt"
	"math"

	"gorun/internal/column"
	"gorun/internal/result"
)

// Figure is one of the figures that a run judges.
type Figure struct {
	result.Figure // Column is "" for wall seconds
	// Of returns the figure of a sample as a time, in seconds: of the whole, or of an operation. Of a metric it returns the
	// figure, or its inverse where higher is better: that of operations a second is the time of one. Where the sample does
	// not have the figure, the result is no positive number.
	Of      func(result.Sample) float64
	decides bool // when the run stops
	rate    bool // Of returns inverses
}

// seen is a sample by this figure: it is invalid where it does not have it. That the deciding figure is there is for the
// experiment to see to.
func (f Figure) seen(s result.Sample) result.Sample {
	if invalid(s) || f.decides || f.known(s) {
		return s
	}
	s.Quality.Verdict = result.Invalid
	s.Quality.Reasons = []string{"the " + f.Label + " is not known"}
	return s
}

// lacks reports whether a sample cannot be judged by this figure.
func (f Figure) lacks(s result.Sample) bool { return invalid(f.seen(s)) }

// has reports whether a sample was taken to its end and can be judged by this figure.
func (f Figure) has(s result.Sample) bool { return !s.Partial && !f.lacks(s) }

// known reports whether a sample has the figure.
func (f Figure) known(s result.Sample) bool {
	figure := f.Of(s)
	return figure > 0 && figure <= math.MaxFloat64
}

func invalid(s result.Sample) bool { return s.Quality.Verdict == result.Invalid }

// Time returns the function that gets the figure of a sample that decides when a run stops, as Figure.Of does.
func Time(m *result.Matrix, columns column.List) (func(result.Sample) float64, error) {
	figures, err := Figures(m, columns)
	if err != nil {
		return nil, err
	}
	return figures[0].Of, nil
}

// Figures returns what is judged of a run, the figure that decides when it stops first. The columns are those of the
// run's experiment.
func Figures(m *result.Matrix, columns column.List) ([]Figure, error) {
	figures := []Figure{{Of: func(s result.Sample) float64 { return s.Seconds }}}
	if m.Datum != "" {
		c, found := columns.Find(m.Datum)
		if !found {
			return nil, fmt.Errorf("the cells are compared by %s, which this gorun does not know", m.Datum)
		}
		figures[0] = figureOf(c, m.Better == result.Higher)
	}
	figures[0].decides = true
	for _, f := range m.Figures {
		c, found := columns.Find(f.Column)
		if !found {
			return nil, fmt.Errorf("the cells are judged by %s, which this gorun does not know", f.Column)
		}
		figure := figureOf(c, c.Better == column.Higher)
		figure.Figure = f
		figures = append(figures, figure)
	}
	return figures, nil
}

func figureOf(c column.Column, rate bool) Figure {
	f := Figure{Figure: result.Figure{Column: c.Name, Label: c.Label}, rate: rate}
	f.Of = func(s result.Sample) float64 {
		figure, ok := c.Number(&s)
		if !ok {
			figure = 0 // a word, or nothing
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
