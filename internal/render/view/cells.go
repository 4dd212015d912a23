package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/units"
)

// CellFlags are the flags that any cell gives, those of BenchNames first, and which of them are not the same in all.
func CellFlags(cells []result.Cell) (flags []string, differ map[string]bool) {
	all := Spec{}
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

// CellsBlock is the grid: what tells the cells apart, their median times and their verdicts. Where there is no room for
// these columns, the cells' names stand for them; where there is more, the times' range is shown too.
func CellsBlock(run *result.Run, opts term.Options) string {
	cells := run.Cells
	rows := make([]term.Judged, len(cells))
	for i := range cells {
		rows[i].Words = CellRemarks(run, i)
	}
	times, ranges := cellTimes(run)
	labels, columns := CellLabels(run.Matrix, cells)

	fill := func(last ...[]string) (numbers [][]string) {
		for i := range rows {
			rows[i].Cells = slices.Clone(labels[i])
			for _, column := range last {
				rows[i].Cells = append(rows[i].Cells, column[i])
			}
			numbers = append(numbers, rows[i].Cells)
		}
		return numbers
	}
	time := "time"
	if run.Matrix.Datum == result.DatumMetric {
		time = result.DatumMetric
	}
	withTime := append(slices.Clone(columns), term.Right(time))
	withRange := append(slices.Clone(withTime), term.Left("range"))
	sampled := slices.ContainsFunc(cells, func(cell result.Cell) bool { return cell.Summary != nil })
	if sampled && term.GridWidth(withRange, fill(times, ranges))+2+term.Longest(rows) <= opts.Columns() {
		return term.JudgedGrid(withRange, "verdict", rows, opts)
	}
	needed := term.GridWidth(withTime, fill(times))
	if len(run.Matrix.Columns) == 0 {
		needed += 2 + min(term.LeastWords, term.Longest(rows)) // columns that nobody asked for give way to the words
	}
	if needed > opts.Columns() {
		withTime = []term.Column{term.Left("cell"), term.Right(time)}
		for i, cell := range cells {
			labels[i] = []string{term.Snip(cell.Name, opts.Columns()-16)} // two gaps, and a time in up to 12 columns
		}
		fill(times)
	}
	return term.JudgedGrid(withTime, "verdict", rows, opts)
}

// CellRemarks are what is said of a cell: the verdict on the figure that decides when the run stops, and the others, each
// with its figure's name.
func CellRemarks(run *result.Run, i int) []term.Remark {
	remarks := []term.Remark{CellWords(run, i)}
	for _, figure := range run.Matrix.Figures {
		if v, judged := run.Cells[i].Verdicts[figure.Column]; judged {
			remarks = append(remarks, FigureWords(figure, v))
		}
	}
	return remarks
}

// FigureWords is a verdict on a figure that does not decide when the run stops.
func FigureWords(figure result.Figure, v stats.Verdict) term.Remark {
	return term.Remark{Text: figure.Label + ": " + v.String(), Colour: term.KindColours[v.Kind]}
}

// CellWords is the verdict on a cell, of several figures on the deciding one.
func CellWords(run *result.Run, i int) term.Remark {
	cell := &run.Cells[i]
	switch {
	case run.IsBaseline(i):
		return term.Remark{Text: "baseline", Colour: term.Bold}
	case cell.Verdict != nil:
		words := cell.Words
		if words == "" {
			words = string(cell.Verdict.Kind)
		}
		return term.Remark{Text: words, Colour: term.KindColours[cell.Verdict.Kind]}
	}
	return term.Remark{Text: "no verdict", Colour: term.Dim}
}

// cellTimes are the medians of what is compared of the cells, and their ranges; "-" without samples.
func cellTimes(run *result.Run) (times, ranges []string) {
	cells := run.Cells
	figures := func(s *result.Summary) result.Distribution { return s.Seconds }
	show := units.Seconds
	if run.Matrix.Datum == result.DatumMetric {
		figures = func(s *result.Summary) result.Distribution {
			if s.Metric == nil {
				return result.Distribution{}
			}
			return *s.Metric
		}
		show = units.Digits
	} else {
		var medians []float64
		for _, cell := range cells {
			if cell.Summary != nil {
				medians = append(medians, cell.Summary.Seconds.Median)
			}
		}
		show = units.Together(medians)
	}
	for _, cell := range cells {
		if cell.Summary == nil {
			times, ranges = append(times, "-"), append(ranges, "")
			continue
		}
		d := figures(cell.Summary)
		times = append(times, show(d.Median))
		ranges = append(ranges, show(d.Min)+" … "+show(d.Max))
	}
	return times, ranges
}

// CellLabels are the columns that tell cells apart, by cell, and their headings: those of the matrix, or the group,
// where there is any, and the flags that differ.
func CellLabels(m *result.Matrix, cells []result.Cell) ([][]string, []term.Column) {
	wanted := m.Columns
	if len(wanted) == 0 {
		if slices.ContainsFunc(cells, func(cell result.Cell) bool { return cell.Group != "" }) {
			wanted = append(wanted, result.Column{Title: groupColumn, Flag: groupColumn})
		}
		flags, differ := CellFlags(cells)
		for _, flag := range flags {
			if differ[flag] {
				wanted = append(wanted, plainColumn(flag, cells))
			}
		}
	}
	if len(wanted) == 0 {
		wanted = []result.Column{{Title: "cell", Flag: nameColumn}}
	}
	labels, columns := make([][]string, len(cells)), make([]term.Column, len(wanted))
	for n, column := range wanted {
		columns[n] = term.Left(column.Title)
		last, figures := "", true
		for i := range cells {
			label := cellLabel(&cells[i], column)
			if _, err := strconv.ParseFloat(label, 64); err != nil && label != column.Unset {
				figures = false
			}
			if column.Flag == groupColumn {
				label, last = changed(label, last), label
			}
			labels[i] = append(labels[i], label)
		}
		columns[n].Right = figures || column.Style == "truth" || column.Style == "cpus"
	}
	return labels, columns
}

// A column that is not a flag shows one of these.
const (
	groupColumn = "group"
	nameColumn  = "name"
)

// changed shows a text only where it is not the one above.
func changed(text, above string) string {
	if text == above {
		return ""
	}
	return text
}

// plainColumn shows a flag as it was given, and a switch as a mark.
func plainColumn(flag string, cells []result.Cell) result.Column {
	column := result.Column{Title: flag, Flag: flag, Unset: "-"}
	for _, cell := range cells {
		if _, isSwitch := marks[cell.Flags[flag]]; isSwitch {
			column.Style, column.Unset = "mark", ""
		}
	}
	return column
}

// styles are the ways to show a flag in a column: those of result.ColumnStyles, and the marks of plainColumn.
var styles = map[string]func(cell *result.Cell, flag, value string) string{
	"value": func(_ *result.Cell, _, value string) string { return value },
	"truth": truth,
	"cpus":  onCPUs,
	"mark":  mark,
}

// marks are those of switches.
var marks = map[string]string{"true": "✓", "false": "✗"}

func mark(_ *result.Cell, _, value string) string {
	if mark, ok := marks[value]; ok {
		return mark
	}
	return value
}

func truth(_ *result.Cell, _, value string) string {
	if value == "" || value == "false" {
		return "F"
	}
	return "T"
}

// onCPUs is "T-4" for a list of 4 CPUs, and "F (8)" for a worker that floats over the cell's 8.
func onCPUs(cell *result.Cell, flag, value string) string {
	if value == "" {
		return fmt.Sprintf("F (%d)", cell.CPUs["cpus"].Count)
	}
	return fmt.Sprintf("T-%d", cell.CPUs[flag].Count)
}

// cellLabel is what a column says of a cell.
func cellLabel(cell *result.Cell, column result.Column) string {
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
	show, known := styles[column.Style]
	if !known {
		show = styles["value"]
	}
	return show(cell, column.Flag, value)
}

// ControlBlock says whether the method can be trusted: the baseline ran under two names, which must not differ.
func ControlBlock(run *result.Run, opts term.Options) string {
	m := run.Matrix
	controls := m.Controls
	if len(controls) == 0 && m.Control != nil {
		controls = []result.Control{{Baseline: m.Baseline, Verdict: *m.Control, Verdicts: m.ControlVerdicts}}
	}
	block := ""
	for _, control := range controls {
		baseline := "the baseline"
		if at := control.Baseline; len(m.Controls) > 0 && at >= 0 && at < len(run.Cells) {
			baseline = run.Cells[at].Name
		}
		text := baseline + " against its own duplicate: " + painted(control.Verdict.String(), control.Verdict.Kind, opts)
		for _, figure := range m.Figures {
			if v, judged := control.Verdicts[figure.Column]; judged {
				text += "; " + painted(FigureWords(figure, v).Text, v.Kind, opts)
			}
		}
		block += term.Paragraph(opts.Paint(term.Bold, "control")+": ", text, opts.Columns())
	}
	if n := len(run.Cells); n > 1 {
		baselines := max(1, len(m.Controls))
		compared := units.Things(n-baselines, "cell")
		if contrasts := len(m.Contrasts); contrasts > 0 {
			compared += ", " + units.Things(contrasts, "contrast")
		}
		if baselines > 1 {
			compared += " and " + units.Things(baselines, "control")
		} else {
			compared += " and the control"
		}
		if len(m.Figures) > 0 {
			compared += ", each by wall time"
		}
		for _, figure := range m.Figures {
			compared += " and by " + figure.Label
		}
		block += term.Paragraph("", fmt.Sprintf("%d comparisons, %s, share the %s chance of any false verdict",
			(n+len(m.Contrasts))*(1+len(m.Figures)), compared, units.Share(m.Alpha)), opts.Columns())
	}
	return block
}

// painted puts colour on single words, since a paragraph may break between any two.
func painted(text string, kind stats.Kind, opts term.Options) string {
	words := strings.Fields(text)
	for i, word := range words {
		words[i] = opts.Paint(term.KindColours[kind], word)
	}
	return strings.Join(words, " ")
}
