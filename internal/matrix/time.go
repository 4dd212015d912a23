package matrix

import (
	"fmt"

	"gorun/internal/column"
	"gorun/internal/result"
)

// Time returns the function that gets what is compared of a sample of a run, in seconds: of the whole, or of an
// operation. Of a metric it gets the figure, or its inverse where higher is better: that of operations a second is the
// time of one. The columns are those of the run's experiment.
func Time(m *result.Matrix, columns column.List) (func(result.Sample) float64, error) {
	if m.Datum == "" {
		return func(s result.Sample) float64 { return s.Seconds }, nil
	}
	c, found := columns.Find(m.Datum)
	if !found {
		return nil, fmt.Errorf("the cells are compared by %s, which this gorun does not know", m.Datum)
	}
	return func(s result.Sample) float64 {
		figure, ok := c.Number(&s)
		if !ok {
			figure = 0 // a word, or nothing
		}
		switch {
		case c.Unit == column.Nanoseconds:
			return figure / 1e9
		case m.Better == result.Higher:
			return 1 / figure
		}
		return figure
	}, nil
}
