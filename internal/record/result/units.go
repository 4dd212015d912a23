package result

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gorun/internal/base/hint"
	"gorun/internal/base/units"
)

// Take appends a sample, after In. The first that is not invalid and has a figure defines the unit in which all are judged and shown.
func (r *Run) Take(s Sample) {
	for column, unit := range s.Units {
		if _, known := r.Units[column]; !known && s.Quality.Grade != Invalid {
			r.Units = maps.Clone(r.Units)
			if r.Units == nil {
				r.Units = map[string]string{}
			}
			r.Units[column] = unit
		}
	}
	r.of(&s).Append(&s)
}

// of returns the samples of the run to which one belongs.
func (r *Run) of(s *Sample) *Samples {
	if s.Slot != nil && s.Confirms {
		return &r.Confirming
	}
	return &r.Samples
}

// Index returns the index that a sample gets when the run takes it: confirming ones are counted by themselves.
func (r *Run) Index(s *Sample) int { return r.of(s).Len() }

// Taken returns the number of all samples.
func (r *Run) Taken() int { return r.Samples.Len() + r.Confirming.Len() }

// Printed notes the unit that a program printed after the figure of a column; "": none.
func (s *Sample) Printed(column, unit string) {
	if s.Units == nil {
		s.Units = map[string]string{}
	}
	s.Units[column] = unit
}

// In gives a sample the factors from the units that a program printed to others, by column. The error is that there is none. A figure whose
// unit was not recorded is taken as it is.
func (s *Sample) In(others map[string]string) error {
	s.Factors = nil
	for _, column := range slices.Sorted(maps.Keys(s.Units)) {
		to, known := others[column]
		if !known || to == s.Units[column] {
			continue
		}
		factor, err := units.Between(s.Units[column], to)
		if err != nil {
			return hint.With(fmt.Errorf("the unit of %s changes: %w", column, err), hint.Of(err))
		}
		if s.Factors == nil {
			s.Factors = map[string]float64{}
		}
		s.Factors[column] = factor
	}
	return nil
}

// Factor returns the factor from the figure of a column, as it was printed, to the unit of the run.
func (s *Sample) Factor(column string) float64 {
	if factor, other := s.Factors[column]; other {
		return factor
	}
	return 1
}

// In returns the run with its samples in these units, by column.
func (r Run) In(others map[string]string) (*Run, error) {
	var err error
	r.Samples = r.Samples.Map(func(_ int, s *Sample) {
		if s.Quality.Grade != Invalid {
			err = cmp.Or(err, s.In(others))
		}
	})
	if err != nil {
		return nil, err
	}
	r.Units = others
	return &r, nil
}
