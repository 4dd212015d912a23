package experiment

import (
	"fmt"

	"gorun/internal/hint"
)

// One returns the only CPU of a list, which must be among those of the cell.
func (m Machine) One(list string) (int, error) {
	cpus, err := m.Select(list, m.CPUs)
	if err != nil {
		return 0, err
	}
	if len(cpus) > 1 {
		return 0, hint.With(fmt.Errorf("these are %d CPUs", len(cpus)), "name one of them")
	}
	return cpus[0], nil
}
