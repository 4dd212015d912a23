package matrix

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/shell"
	"gorun/internal/base/units"
	"gorun/internal/record/result"
)

// Common returns the flags that all cells share, with their values.
func Common(cells []result.Cell) map[string]string {
	common := maps.Clone(cells[0].Flags)
	for _, cell := range cells[1:] {
		maps.DeleteFunc(common, func(flag, value string) bool {
			other, given := cell.Flags[flag]
			return !given || other != value
		})
	}
	return common
}

// Resumable returns the differences that prevent a recorded run from continuing as the requested one: another machine,
// another binary, another design. The budget and the number of samples may differ, since the verdicts hold at any time of stopping.
func Resumable(recorded, now *result.Run) []result.Difference {
	differences := result.Differences(recorded, now)
	differ := func(what, before, after string) {
		if before != after {
			differences = append(differences, result.Difference{What: what, A: before, B: after})
		}
	}
	differ("experiment", recorded.Experiment, now.Experiment)
	if recorded.Matrix == nil {
		differ("", "no cells", units.Things(len(now.Cells), "cell"))
		return differences
	}
	m, n := recorded.Matrix, now.Matrix
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	differ("order", cmp.Or(m.Order.Design, "blocks"), cmp.Or(n.Order.Design, "blocks"))
	differ("seed", strconv.FormatUint(recorded.Seed, 10), strconv.FormatUint(now.Seed, 10))
	if n.Warmup >= 0 { // otherwise the pilot's result holds
		differ("warmup", m.WarmupWords(), n.WarmupWords())
	}
	differ("precision", number(m.Precision), number(n.Precision))
	differ("margin", number(m.Margin), number(n.Margin))
	differ("alpha", number(m.Alpha), number(n.Alpha))
	differ("figures", figures(m), figures(n))
	if m.Order.Design == result.Search { // its stages end by them
		differ("budget", number(m.Budget), number(n.Budget))
		differ("samples", strconv.Itoa(m.Rounds), strconv.Itoa(n.Rounds))
		differ("history", fmt.Sprint(m.History), fmt.Sprint(n.History))
	}
	if n := len(now.Cells); len(recorded.Cells) != n {
		return append(differences, result.Difference{A: units.Things(len(recorded.Cells), "cell"), B: strconv.Itoa(n)})
	}
	for i := range recorded.Cells {
		before, after := command(recorded.Cells[i]), command(now.Cells[i])
		differ("cell "+strconv.Itoa(i)+":", before, after)
		if before != after {
			return differences
		}
		differ("figure of cell "+strconv.Itoa(i), by(recorded.Cells[i]), by(now.Cells[i]))
		differ("program of cell "+strconv.Itoa(i), recorded.Cells[i].Program, now.Cells[i].Program)
	}
	differ("baseline", recorded.Cells[m.Baseline].Name, now.Cells[n.Baseline].Name)
	differ("contrasts", contrastWords(m.Contrasts), contrastWords(n.Contrasts))
	differ("", stepWords(m.Steps), stepWords(n.Steps))
	differ("candidates that may confirm a cause (as with --why=confirm):", candidateWords(m.Candidates), candidateWords(n.Candidates))
	if len(differences) == 0 && m.Rules >= askedSince {
		differences = asked(recorded.Asked, now.Asked)
	}
	return differences
}

// askedSince is the version of the rules from which on a header has the flags.
const askedSince = 2

// asked returns the flags that differ. What it is about is said better where cells differ.
func asked(recorded, now map[string]string) (differences []result.Difference) {
	names := slices.AppendSeq(slices.Collect(maps.Keys(recorded)), maps.Keys(now))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		words := func(flags map[string]string) string {
			if value, given := flags[name]; given {
				return "--" + name + " " + shell.Quote(value)
			}
			return "no --" + name
		}
		if recorded[name] != now[name] {
			differences = append(differences, result.Difference{A: words(recorded), B: words(now)})
		}
	}
	return differences
}

// Changed returns those of the files now that are not what they were at the end of a recorded run, and words about each. refused: one of
// them is a program, with which the run must not continue. What was not there then, as the output of the samples, is no change.
func Changed(recorded *result.Run, now []result.File) (changed []result.File, words []string, refused bool) {
	files, _ := recorded.FilesAtEnd()
	for _, is := range now {
		for _, was := range files {
			if is.Is(was) && is.Differs(was) {
				changed, words, refused = append(changed, is), append(words, is.Since(was)), refused || is.Program
			}
		}
	}
	return changed, words, refused
}

// figures names the figures that a run judges.
func figures(m *result.Matrix) string {
	words := []string{cmp.Or(m.Compared, "wall time")}
	for _, f := range m.Figures {
		words = append(words, f.Column)
	}
	return strings.Join(words, ", ")
}

// by names the figure by which a cell is judged in place of the matrix's.
func by(c result.Cell) string {
	if c.By == nil {
		return ""
	}
	return c.By.Column + " " + c.By.Better
}

// stepWords says how cells are sampled, with the work of each step of a search in order.
func stepWords(steps []result.Step) string {
	words := make([]string, len(steps))
	for i, step := range steps {
		words[i] = strconv.FormatFloat(step.Work, 'g', 4, 64)
	}
	if len(steps) == 0 {
		return "all cells sampled (as with --every-step)"
	}
	return "its steps tried in order, of the work " + strings.Join(words, ", ")
}

// contrastWords lists the declared comparisons by the cells' numbers.
func contrastWords(contrasts []result.Contrast) string {
	words := make([]string, len(contrasts))
	for i, c := range contrasts {
		words[i] = fmt.Sprintf("%d with %d", c.B, c.A)
	}
	return cmp.Or(strings.Join(words, ", "), "none")
}

// candidateWords lists the candidates with the numbers of their cells.
func candidateWords(candidates []result.Candidate) string {
	words := make([]string, len(candidates))
	for i, c := range candidates {
		words[i] = fmt.Sprintf("%s in %d", c, c.Cell)
	}
	return cmp.Or(strings.Join(words, ", "), "none")
}

func command(c result.Cell) string { return strings.Join(c.Command, " ") }
