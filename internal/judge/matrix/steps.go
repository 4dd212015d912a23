package matrix

import (
	"cmp"
	"strconv"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
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

// ordered reports whether the cells are asked about in order, step by step.
func (b *Judging) ordered() bool { return len(b.run.Matrix.Steps) > 0 }

// open reports whether a group needs a round. Of a search in order, that is the first step that is not claimed to scale.
func (b *Judging) open(group int) bool {
	return !b.groupDone(b.groups[group]) && (!b.ordered() || group == b.step())
}

// step returns the first step of a search in order that is not claimed to scale; the number of steps if all are.
func (b *Judging) step() int {
	for i, g := range b.groups {
		if !g.judge().Scales() {
			return i
		}
	}
	return len(b.groups)
}

// reached returns the last cell up to which each step scales, by verdicts that are corrected by the samples' quality.
func (b *Judging) reached() (cell int) {
	for cell+1 < len(b.run.Cells) && b.run.Cells[cell+1].Verdict.Kind == stats.Scales {
		cell++
	}
	return cell
}
