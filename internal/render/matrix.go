package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/result"
)

// matrixBlocks are the table of a matrix: what was compared and how, a row a cell, and what to think of the samples.
func matrixBlocks(run *result.Run, options spec, opts Options) []string {
	return []string{
		matrixHeading(run, options, opts),
		cellsBlock(run, opts),
		rankingBlock(run, opts),
		controlBlock(run, opts),
		doubtsBlock(run, opts),
		findingsBlock(run, opts),
		warningsBlock(run.Warnings, opts),
	}
}

// matrixHeading says what was compared, by what rules, and on what.
func matrixHeading(run *result.Run, options spec, opts Options) string {
	m, width := run.Matrix, opts.columns()
	title := "gorun matrix " + run.Experiment
	compared := []string{things(len(run.Cells), "cell")}
	if m.Baseline >= 0 && m.Baseline < len(run.Cells) {
		compared = append(compared, "baseline "+run.Cells[m.Baseline].Name)
	}
	var parts []string
	if len(run.Cells) > 0 && run.Cells[0].Lines != nil {
		parts = append(parts, userCommand(run.Cells[0]))
	}
	if m.Title == "" {
		title += ": " + strings.Join(compared, ", ")
	} else {
		parts = slices.Concat([]string{title}, parts, compared)
		title = m.Title
	}

	rounds := map[int]struct{}{}
	for i := range run.Samples {
		if slot := run.Samples[i].Slot; slot != nil {
			rounds[slot.Round] = struct{}{}
		}
	}
	taken := things(len(rounds), "round")
	if len(rounds) < m.Rounds {
		taken = fmt.Sprintf("%d of %s", len(rounds), things(m.Rounds, "round"))
	}
	parts = append(parts, taken, things(len(run.Samples), "sample"))
	if m.Warmup > 0 {
		parts = append(parts, things(m.Warmup, "warm-up")+" dropped before each")
	}
	parts = append(parts, "margin "+share(m.Margin), "alpha "+share(m.Alpha))

	var block strings.Builder
	for _, line := range sayings([]remark{{title, bold}}, width, opts) {
		block.WriteString(line + "\n")
	}
	flags, differ := cellFlags(run.Cells)
	var common []string
	for _, flag := range flags {
		if !differ[flag] {
			common = append(common, optionPart(flag, run.Cells[0].Flags[flag]))
		}
	}
	for _, parts := range [][]string{common, parts, hostParts(run, options)} {
		for i, part := range parts {
			parts[i] = snip(part, width-2)
		}
		if len(parts) > 0 {
			block.WriteString("  " + flow(parts, " · ", "  ", width-2))
		}
	}
	return block.String()
}

// cellFlags are the flags that any cell gives, those of benchNames first, and which of them are not the same in all.
func cellFlags(cells []result.Cell) (flags []string, differ map[string]bool) {
	all := spec{}
	for _, cell := range cells {
		for flag := range cell.Flags {
			all[flag] = "given"
		}
	}
	flags, differ = all.names(benchNames...), map[string]bool{}
	for _, flag := range flags {
		first, given := cells[0].Flags[flag]
		differ[flag] = slices.ContainsFunc(cells, func(cell result.Cell) bool {
			value, here := cell.Flags[flag]
			return value != first || here != given
		})
	}
	return flags, differ
}

// cellsBlock is the grid: what tells the cells apart, their median times and their verdicts. Where there is no room for
// these columns, the cells' names stand for them; where there is more, the times' range is shown too.
func cellsBlock(run *result.Run, opts Options) string {
	cells := run.Cells
	rows := make([]judged, len(cells))
	for i := range cells {
		rows[i].words = []remark{cellWords(run, i)}
	}
	times, ranges := cellTimes(run)
	labels, columns := cellLabels(run.Matrix, cells)

	fill := func(last ...[]string) (numbers [][]string) {
		for i := range rows {
			rows[i].cells = slices.Clone(labels[i])
			for _, column := range last {
				rows[i].cells = append(rows[i].cells, column[i])
			}
			numbers = append(numbers, rows[i].cells)
		}
		return numbers
	}
	time := "time"
	if run.Matrix.Datum == result.DatumMetric {
		time = result.DatumMetric
	}
	withTime := append(slices.Clone(columns), right(time))
	withRange := append(slices.Clone(withTime), left("range"))
	sampled := slices.ContainsFunc(cells, func(cell result.Cell) bool { return cell.Summary != nil })
	if sampled && gridWidth(withRange, fill(times, ranges))+2+longest(rows) <= opts.columns() {
		return judgedGrid(withRange, "verdict", rows, opts)
	}
	needed := gridWidth(withTime, fill(times))
	if len(run.Matrix.Columns) == 0 {
		needed += 2 + min(leastWords, longest(rows)) // columns that nobody asked for give way to the words
	}
	if needed > opts.columns() {
		withTime = []column{left("cell"), right(time)}
		for i, cell := range cells {
			labels[i] = []string{snip(cell.Name, opts.columns()-16)} // two gaps, and a time in up to 12 columns
		}
		fill(times)
	}
	return judgedGrid(withTime, "verdict", rows, opts)
}

// cellWords is what is said of a cell.
func cellWords(run *result.Run, i int) remark {
	cell := &run.Cells[i]
	switch {
	case i == run.Matrix.Baseline:
		return remark{"baseline", bold}
	case cell.Verdict != nil:
		words := cell.Words
		if words == "" {
			words = string(cell.Verdict.Kind)
		}
		return remark{words, kindColours[cell.Verdict.Kind]}
	}
	return remark{"no verdict", dim}
}

// cellTimes are the medians of what is compared of the cells, and their ranges; "-" without samples.
func cellTimes(run *result.Run) (times, ranges []string) {
	cells := run.Cells
	figures := func(s *result.Summary) result.Distribution { return s.Seconds }
	show := seconds
	if run.Matrix.Datum == result.DatumMetric {
		figures = func(s *result.Summary) result.Distribution {
			if s.Metric == nil {
				return result.Distribution{}
			}
			return *s.Metric
		}
		show = digits
	} else {
		var medians []float64
		for _, cell := range cells {
			if cell.Summary != nil {
				medians = append(medians, cell.Summary.Seconds.Median)
			}
		}
		show = together(medians)
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

// cellLabels are the columns that tell cells apart, by cell, and their headings: those of the matrix, or the group,
// where there is any, and the flags that differ.
func cellLabels(m *result.Matrix, cells []result.Cell) ([][]string, []column) {
	wanted := m.Columns
	if len(wanted) == 0 {
		if slices.ContainsFunc(cells, func(cell result.Cell) bool { return cell.Group != "" }) {
			wanted = append(wanted, result.Column{Title: groupColumn, Flag: groupColumn})
		}
		flags, differ := cellFlags(cells)
		for _, flag := range flags {
			if differ[flag] {
				wanted = append(wanted, plainColumn(flag, cells))
			}
		}
	}
	if len(wanted) == 0 {
		wanted = []result.Column{{Title: "cell", Flag: nameColumn}}
	}
	labels, columns := make([][]string, len(cells)), make([]column, len(wanted))
	for n, column := range wanted {
		columns[n] = left(column.Title)
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
		columns[n].right = figures || column.Style == "truth" || column.Style == "cpus"
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

// controlBlock says whether the method can be trusted: the baseline ran under two names, which must not differ.
func controlBlock(run *result.Run, opts Options) string {
	block := ""
	if control := run.Matrix.Control; control != nil {
		words := strings.Fields(control.String())
		for i, word := range words {
			words[i] = opts.paint(kindColours[control.Kind], word)
		}
		block = paragraph(opts.paint(bold, "control")+": ", "the baseline against its own duplicate: "+
			strings.Join(words, " "), opts.columns())
	}
	if n := len(run.Cells); n > 1 {
		block += paragraph("", fmt.Sprintf("%d comparisons, %s and the control, share the %s chance of any false verdict",
			n, things(n-1, "cell"), share(run.Matrix.Alpha)), opts.columns())
	}
	return block
}

// doubtsBlock says which samples are not as good as they should be; nothing, when all are.
func doubtsBlock(run *result.Run, opts Options) string {
	block := interruptedText(run, opts)
	if !slices.ContainsFunc(run.Samples, func(s result.Sample) bool {
		return s.Quality.Verdict != result.Valid || s.Partial
	}) {
		return block
	}
	counts := paragraph(opts.paint(bold, "samples")+" ", verdictCounts(run.Samples, opts), opts.columns())
	return block + counts + reasonLines(run.Samples, opts)
}
