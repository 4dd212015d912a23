package journal

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/result"
)

// checkCells checks the cells of the header.
func checkCells(run *result.Run) error {
	before := run.Header().Cells
	named := map[string]int{}
	for i, cell := range run.Cells {
		if first, found := named[cell.Name]; found {
			return fmt.Errorf("cells %d and %d both have the name %q", first, i, cell.Name)
		}
		named[cell.Name] = i
		if !reflect.DeepEqual(cell, before[i]) {
			return fmt.Errorf("cell %d has a verdict or a summary, before the first sample", i)
		}
		for _, name := range slices.Sorted(maps.Keys(cell.CPUs)) {
			list := cell.CPUs[name]
			if set, err := cpuset.Parse(list.List); err != nil || set.Len() != list.Count {
				return fmt.Errorf("cell %d: %q of %q is not a list of %d CPUs", i, list.List, name, list.Count)
			}
		}
		for _, word := range cell.Command {
			name, value, given := strings.Cut(strings.TrimPrefix(word, "--"), "=")
			if flag, known := cell.Flags[name]; given && known && value != flag {
				return fmt.Errorf("cell %d has the value %q of --%s, and %q in its command", i, flag, name, word)
			}
		}
	}
	return nil
}

// checkCompared checks that each cell is compared with a baseline, and each contrast is of two cells with the same one.
func checkCompared(run *result.Run) error {
	m, cells := run.Matrix, len(run.Cells)
	if m.Baseline < 0 || m.Baseline >= cells {
		return fmt.Errorf("the baseline is cell %d of %d", m.Baseline, cells)
	}
	for _, share := range []struct {
		name  string
		value float64
	}{{"error rate", m.Alpha}, {"margin", m.Margin}, {"precision", m.Precision}} {
		if !(share.value > 0 && share.value < 1) && m.Order.Design != result.Rows {
			return fmt.Errorf("the %s, %v, is not between 0 and 1", share.name, share.value)
		}
	}
	figures := append(slices.Clone(m.Figures), result.JudgedFigure{Better: m.Better})
	for _, cell := range run.Cells {
		if cell.By != nil {
			figures = append(figures, *cell.By)
		}
	}
	for _, figure := range figures {
		if !slices.Contains([]string{"", result.Lower, result.Higher}, figure.Better) {
			return fmt.Errorf("%q does not say which of two figures is better, %s or %s", figure.Better, result.Lower, result.Higher)
		}
	}
	if err := checkSteps(run); err != nil {
		return err
	}
	for i := range run.Cells {
		if against := run.Against(i); against < 0 || against >= cells || run.Against(against) != against && len(m.Steps) == 0 {
			return fmt.Errorf("cell %d is compared with cell %d, which is not a baseline", i, against)
		}
		if against := run.Against(i); !reflect.DeepEqual(run.Cells[i].By, run.Cells[against].By) {
			return fmt.Errorf("cell %d is judged by another figure than cell %d, with which it is compared", i, against)
		}
	}
	for i, c := range m.Candidates {
		if c.Cell < 0 || c.Cell >= cells || c.Axis == "" || m.Order.Design != "" {
			return fmt.Errorf("candidate %d, --%s of cell %d of %d, cannot be tried", i, c.Axis, c.Cell, cells)
		}
	}
	for i, c := range m.Contrasts {
		if min(c.A, c.B) < 0 || max(c.A, c.B) >= cells {
			return fmt.Errorf("contrast %d, of the cells %d and %d, is not among the %d cells", i, c.A, c.B, cells)
		}
		if run.Against(c.A) != run.Against(c.B) {
			return fmt.Errorf("contrast %d is of the cells %d and %d, which have different baselines", i, c.A, c.B)
		}
	}
	return nil
}

// checkSteps checks that the steps of a search in order lead from each cell to the next.
func checkSteps(run *result.Run) error {
	m := run.Matrix
	if len(m.Steps) == 0 {
		return nil
	}
	if end := m.Ends(); m.Order.Design != "" || len(m.Contrasts) > 0 || m.Baseline != 0 || run.Against(0) != 0 || !end.Answers() || end.Samples != 0 {
		return errors.New("a search in order does not end, or compare, as this one does")
	}
	if len(m.Steps) != len(run.Cells)-1 {
		return fmt.Errorf("the search in order has %d cells, and the number of its steps is %d", len(run.Cells), len(m.Steps))
	}
	for i, step := range m.Steps {
		if step.Cell != i+1 || run.Against(i+1) != i {
			return fmt.Errorf("step %d leads from cell %d to cell %d", i, run.Against(i+1), step.Cell)
		}
		if !(step.Work > 0 && step.Work <= mostWork) {
			return fmt.Errorf("step %d does %v times the work of the one before it", i, step.Work)
		}
	}
	return nil
}

// mostWork is more than one step of a search in order can do, in the work of the one before it.
const mostWork = 1e6
