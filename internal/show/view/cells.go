package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/stats"
)

// BenchNames are the options that come first in a benchmark's name.
var BenchNames = []string{"row", "method", "kernel", "limit", "workers", "dispatch", "split"}

// CellFlags are the flags that any cell gives, those of BenchNames first, and which of them are not the same in all.
func CellFlags(cells []result.Cell) (flags []string, differ map[string]bool) {
	all := Options{}
	for _, cell := range cells {
		for flag := range cell.Flags {
			all[flag] = "given"
		}
	}
	flags, differ = all.Names(BenchNames...), map[string]bool{}
	for _, flag := range flags {
		first, given := cells[0].Flags[flag]
		differ[flag] = slices.ContainsFunc(cells, func(cell result.Cell) bool {
			value, here := cell.Flags[flag]
			return value != first || here != given
		})
	}
	return flags, differ
}

// contrastWords returns the verdicts on a cell against cells that are not the baseline. Such a cell is called by its group,
// where it has one: within the group it is the one with this cell's flags. Verdicts that can't tell are for verbose.
func contrastWords(run *result.Run, cell int, verbose bool) (words table.Phrases) {
	for _, c := range run.Matrix.Contrasts {
		if c.B == cell && c.Verdict != nil {
			name := cmp.Or(run.Cells[c.A].Group, run.Cells[c.A].Name)
			if verbose || c.Verdict.Kind != stats.CantTell {
				words = append(words, table.Phrase{
					Text: "against " + name + ": " + VerdictWords(*c.Verdict, verbose), Tone: table.ToneOf(c.Verdict.Kind),
				})
			}
			for _, figure := range run.Matrix.Figures {
				v, judged := c.Verdicts[figure.Column]
				if judged && (verbose || v.Kind != stats.CantTell && v.Kind != c.Verdict.Kind) {
					figure.Label = "against " + name + ", " + figure.Label
					words = append(words, FigureWords(figure, v, verbose))
				}
			}
		}
	}
	return words
}

// CellPhrases returns the verdicts on a cell: first on the figure that decides when the run stops, then on each other
// figure, with its name. Undecided verdicts on other figures, unless more is known of these, and those of the second family without
// a difference, are for verbose. Figures that only some cells can have are left to the experiment's own table.
func CellPhrases(run *result.Run, i int, verbose bool) table.Phrases {
	phrases := table.Phrases{CellWords(run, i, verbose)}
	decides := run.Cells[i].Verdict
	if undecided := decides != nil && decides.Kind == stats.CantTell; run.Matrix.Best != nil && (undecided || run.IsBaseline(i)) {
		if text := bestWords(run, i); text != "" && undecided {
			phrases[0] = table.Phrase{Text: text}
		} else if text != "" {
			phrases = append(phrases, table.Phrase{Text: text})
		}
	}
	for _, figure := range run.Matrix.Figures {
		v, judged := run.Cells[i].Verdicts[figure.Column]
		silent := v.Kind == stats.CantTell && (figure.Second || !moreIsKnown(v, decides)) || figure.Second && v.Kind == stats.Same
		if decides != nil && v.Reason != "" && v.Reason != decides.Reason {
			silent = false // it says why nothing can be judged by this figure
		}
		if judged && figure.Cells == 0 && (verbose || decides == nil || !silent) {
			phrase := FigureWords(figure, v, verbose)
			if v.Reason == "" { // else the reason says what counts
				phrase.Text += values(run, i, figure)
			}
			phrases = append(phrases, phrase)
		}
	}
	return phrases
}

// bestWords says what a cell is for a run that looks for the best one; "": nothing is known.
func bestWords(run *result.Run, i int) string {
	best := run.Matrix.Best
	switch {
	case best.Winner != nil && *best.Winner == i:
		return "the best"
	case !slices.Contains(best.Left, i):
		return "left out"
	case best.Winner != nil:
		return "not more than " + units.Share(run.Matrix.Margin) + " better"
	}
	return ""
}

// values are the medians of a figure of a cell's baseline and of the cell, as " (0.95 ms → 0.85 ms)".
func values(run *result.Run, cell int, figure result.JudgedFigure) string {
	var sides []table.Value
	for _, i := range [2]int{run.Against(cell), cell} {
		if run.Cells[i].Summary == nil {
			return ""
		}
		of, known := run.Cells[i].Summary.Figures[figure.Column]
		if !known {
			return ""
		}
		sides = append(sides, table.Number{X: of.Median, Unit: column.Unit(of.Unit)})
	}
	texts := showAlike(sides)
	for i := range texts {
		texts[i] = strings.ReplaceAll(texts[i], " ", "\u00a0") // a number stays with its unit
	}
	return fmt.Sprintf(" (%s → %s)", texts[0], texts[1])
}

// moreIsKnown reports whether the interval of one undecided verdict is at most half as wide as that of another: on a busy machine CPU
// time often says what wall time cannot.
func moreIsKnown(v stats.Verdict, than *stats.Verdict) bool {
	width := func(e stats.Effect) float64 { return math.Log(e.Hi / e.Lo) }
	return than != nil && than.Kind == stats.CantTell && v.Typical.Bounded() &&
		(!than.Typical.Bounded() || 2*width(v.Typical) <= width(than.Typical))
}

// verdictsOf returns what was found of a cell. Where the ratio of the times that stand before it is not within the interval, since
// the machine changed from round to round, the median of the paired differences explains that; of two
// cells, the answer has it.
func verdictsOf(run *result.Run, i int, verbose bool) table.Phrases {
	phrases := CellPhrases(run, i, verbose)
	at, cell := run.Against(i), run.Cells[i]
	if cell.Verdict == nil || run.Matrix.Compared == result.MetricColumn || cell.By != nil {
		at = i // times of no other cell to compare with
	}
	if base := run.Cells[at]; at != i && len(run.Cells) > 2 && base.Summary != nil && cell.Summary != nil {
		ratio, v := cell.Summary.Seconds.Median/base.Summary.Seconds.Median, cell.Verdict
		if words := v.Ratio(); words != "" && (ratio < v.Typical.Lo || ratio > v.Typical.Hi) {
			phrases = slices.Insert(phrases, 1, table.Phrase{Text: "median of paired differences " + words, Tone: table.Faint})
		}
	}
	return append(phrases, contrastWords(run, i, verbose)...)
}

// FigureWords returns the verdict on a figure that does not decide when the run stops.
func FigureWords(figure result.JudgedFigure, v stats.Verdict, verbose bool) table.Phrase {
	return table.Phrase{Text: figure.Label + ": " + VerdictWords(v, verbose), Tone: table.ToneOf(v.Kind)}
}

// VerdictWords are a verdict as a table shows it.
func VerdictWords(v stats.Verdict, verbose bool) string {
	if verbose {
		return v.String()
	}
	return v.Brief()
}

// CellWords returns the verdict on a cell. Where several figures are judged, it is on the one that decides when the run stops.
func CellWords(run *result.Run, i int, verbose bool) table.Phrase {
	cell := &run.Cells[i]
	switch {
	case run.IsBaseline(i):
		return table.Phrase{Text: "baseline", Tone: table.Strong}
	case cell.Verdict != nil:
		return table.Phrase{Text: VerdictWords(*cell.Verdict, verbose), Tone: table.ToneOf(cell.Verdict.Kind)}
	}
	return table.Phrase{Text: "no verdict", Tone: table.Faint}
}

// cellColumns returns the columns that a matrix names; else the group, where there is one, and the flags that differ.
func cellColumns(wanted []result.FlagColumn, cells []result.Cell) []result.FlagColumn {
	if len(wanted) == 0 {
		if slices.ContainsFunc(cells, func(cell result.Cell) bool { return cell.Group != "" }) {
			wanted = append(wanted, result.FlagColumn{Title: groupColumn, Flag: groupColumn})
		}
		flags, differ := CellFlags(cells)
		for _, flag := range flags {
			if differ[flag] {
				wanted = append(wanted, plainColumn(flag, cells))
			}
		}
	}
	if len(wanted) == 0 {
		wanted = []result.FlagColumn{{Title: "cell", Flag: nameColumn}}
	}
	return wanted
}

// labelled returns the columns that tell cells apart, and their texts by cell. Comments stand below the table.
func labelled(cells []result.Cell, wanted []result.FlagColumn) (columns []table.Column, labels [][]table.Value) {
	labels = make([][]table.Value, len(cells))
	for _, of := range wanted {
		if of.Flag == result.CommentColumn {
			continue
		}
		last := ""
		for i := range cells {
			label := cellLabel(&cells[i], of)
			if above := last; of.Flag == groupColumn {
				if last = label; label == above {
					label = ""
				}
			}
			labels[i] = append(labels[i], labelValue(label))
		}
		columns = append(columns, table.Column{Title: of.Title, Label: true})
	}
	return columns, labels
}

// labelValue returns a label as a number, if it is one that is shown as it was given.
func labelValue(label string) table.Value {
	if _, err := strconv.ParseFloat(label, 64); err == nil {
		return table.Given(label)
	}
	return table.Text(label)
}

// commentLines are the groups' comments, a sentence each.
func commentLines(cells []result.Cell) (lines []string) {
	last := ""
	for _, cell := range cells {
		if cell.Comment != "" && cell.Group != last {
			lines = append(lines, cell.Group+": "+cell.Comment)
		}
		last = cell.Group
	}
	return lines
}

// A column that is not a flag shows one of these.
const (
	groupColumn = "group"
	nameColumn  = "name"
)

// plainColumn shows a flag as it was given, and a switch as a mark.
func plainColumn(flag string, cells []result.Cell) result.FlagColumn {
	column := result.FlagColumn{Title: FlagWords(flag), Flag: flag, Unset: "-"}
	for _, cell := range cells {
		if _, isSwitch := marks[cell.Flags[flag]]; isSwitch {
			column.Style, column.Unset = "mark", ""
		}
	}
	return column
}

// marks are those of switches.
var marks = map[string]string{"true": "✓", "false": "✗"}

// cellLabel returns the text of a column about a cell, in one of result.FlagStyles or as a mark.
func cellLabel(cell *result.Cell, column result.FlagColumn) string {
	switch column.Flag {
	case groupColumn:
		return cell.Group
	case nameColumn:
		return cell.Name
	}
	value, given := cell.Flags[column.Flag]
	if !given && column.Unset != "" {
		return column.Unset
	}
	switch column.Style {
	case "truth":
		if value == "" || value == "false" {
			return "F"
		}
		return "T"
	case "cpus": // T-4 for a list of 4 CPUs; F (8) for workers that float over 8, and F (1) where these work one after another
		if value == "" {
			return fmt.Sprintf("F (%d)", cmp.Or(cell.AtOnce, cell.CPUs["cpus"].Count))
		}
		return fmt.Sprintf("T-%d", cell.CPUs[column.Flag].Count)
	case "mark":
		return cmp.Or(marks[value], value)
	}
	return value
}
