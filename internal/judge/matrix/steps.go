package matrix

import (
	"cmp"
	"strconv"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
)

// Scaling are the flags of an experiment whose numbers ask up to which of them a program scales. true: the work of a sample grows with the
// number, as with that of copies; false: it stays the same, as with that of threads.
type Scaling map[string]bool

// SetSteps makes a run a search in order, if that is what its cells ask: one flag of these has several numbers, ascending, and nothing else
// differs. Then each cell is compared with the one before it. Work that grows with the number is only known by wall time.
func (s Scaling) SetSteps(run *result.Run) {
	m := run.Matrix
	flag, numbers := s.varied(run.Cells)
	grows := s[flag]
	byTime := cmp.Or(m.Compared, column.Wall.Name) == column.Wall.Name
	if flag == "" || m.Baseline != 0 || len(m.Contrasts) > 0 || m.Layouts > 1 || grows && !byTime {
		return
	}
	for i, n := range numbers[1:] {
		step := result.Step{Cell: i + 1, Work: 1}
		if grows {
			step.Work = float64(n) / float64(numbers[i])
		}
		m.Steps = append(m.Steps, step)
		run.Cells[i+1].Against = &i
	}
}

// varied returns the only flag in which cells differ, and its numbers, ascending; "": there is none.
func (s Scaling) varied(cells []result.Cell) (flag string, numbers []int) {
	common := Common(cells)
	for i, cell := range cells {
		if cell.Against != nil || cell.By != nil || cell.Group != cells[0].Group || len(cell.Flags) != len(common)+1 {
			return "", nil
		}
		for name, value := range cell.Flags {
			if _, shared := common[name]; shared {
				continue
			}
			n, err := strconv.Atoi(value)
			_, scales := s[name]
			if !scales || err != nil || n < 1 || i > 0 && (name != flag || n <= numbers[i-1]) {
				return "", nil
			}
			flag, numbers = name, append(numbers, n)
		}
	}
	return flag, numbers
}
