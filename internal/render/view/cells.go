package view

import (
	"cmp"
	"fmt"
	"math"
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

// CellsBlock is the grid: what tells the cells apart, their median times, and their verdicts. Where there is no room for the
// comments, they stand below it; where there is none for the columns, the cells' names stand for them.
func CellsBlock(run *result.Run, opts term.Options) string {
	wanted := cellColumns(run.Matrix, run.Cells)
	block, fits := cellsGrid(run, wanted, opts)
	isComment := func(column result.Column) bool { return column.Flag == result.CommentColumn }
	comments := ""
	if !fits && slices.ContainsFunc(wanted, isComment) {
		wanted = slices.DeleteFunc(slices.Clone(wanted), isComment)
		block, fits = cellsGrid(run, wanted, opts)
		comments = commentLines(run.Cells, opts)
	}
	if !fits {
		block, _ = cellsGrid(run, []result.Column{{Title: "cell", Flag: nameColumn}}, opts)
	}
	return block + comments
}

// cellsGrid returns the grid with these columns before the times, and reports whether it fits into the page. Where there is
// room, it has the times' range too.
func cellsGrid(run *result.Run, wanted []result.Column, opts term.Options) (grid string, fits bool) {
	labels, columns := labelled(run.Cells, wanted)
	rows := make([]term.Judged, len(run.Cells))
	for i := range rows {
		rows[i].Words = verdictsOf(run, i, opts)
	}
	if wanted[0].Flag == nameColumn {
		names := make([]string, len(labels))
		for i := range names {
			names[i] = labels[i][0]
		}
		for i, name := range term.Apart(names, opts.Columns()-16) { // two gaps, and a time in up to 12 columns
			labels[i][0] = name
		}
	}
	times, ranges := cellTimes(run)
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
	withTime := slices.Concat(columns, []term.Column{term.Right(timeTitle(run))})
	withRange := slices.Concat(columns, []term.Column{term.Right(timeTitle(run)), term.Left("range")})
	sampled := slices.ContainsFunc(run.Cells, func(cell result.Cell) bool { return cell.Summary != nil })
	words := term.LongestPhrase(rows)
	if opts.Verbose { // the words may take several lines
		words = min(term.LeastWords, words)
	}
	if sampled && term.GridWidth(withRange, fill(times, ranges))+2+words <= opts.Columns() {
		return term.JudgedGrid(withRange, "verdict", rows, opts), true
	}
	needed := term.GridWidth(withTime, fill(times))
	commented := slices.ContainsFunc(wanted, func(c result.Column) bool { return c.Flag == result.CommentColumn })
	if len(run.Matrix.Columns) == 0 || commented {
		needed += 2 + min(term.LeastWords, term.LongestPhrase(rows)) // columns that give way to the words
	}
	return term.JudgedGrid(withTime, "verdict", rows, opts), needed <= opts.Columns()
}

// CellsTable returns the cells as a table: what distinguishes them, their median times and their verdicts.
func CellsTable(run *result.Run, opts term.Options) (columns []term.Column, rows [][]string) {
	labels, columns := CellLabels(run.Matrix, run.Cells)
	columns = slices.Concat(columns, []term.Column{term.Right(timeTitle(run)), term.Left("verdict")})
	times, _ := cellTimes(run)
	for i := range run.Cells {
		var words []string
		for _, phrase := range verdictsOf(run, i, opts) {
			words = append(words, phrase.Text)
		}
		rows = append(rows, slices.Concat(labels[i], []string{times[i], strings.Join(words, "; ")}))
	}
	return columns, rows
}

// timeTitle is the title of the column of what is compared.
func timeTitle(run *result.Run) string {
	if run.Matrix.Datum == result.DatumMetric {
		return run.MetricName()
	}
	return "time"
}

// commentLines are the groups' comments, a line each.
func commentLines(cells []result.Cell, opts term.Options) string {
	var rows [][]string
	last := ""
	for _, cell := range cells {
		if cell.Comment != "" && cell.Group != last {
			rows = append(rows, []string{cell.Group, cell.Comment})
		}
		last = cell.Group
	}
	block := "\n"
	for _, row := range rows {
		block += term.Paragraph("  "+row[0]+": ", row[1], opts.Columns())
	}
	return block
}

// contrastWords returns the verdicts on a cell against cells that are not the baseline. Such a cell is called by its group,
// where it has one: within the group it is the one with this cell's flags. Verdicts that can't tell are for opts.Verbose.
func contrastWords(run *result.Run, cell int, opts term.Options) (words []term.Phrase) {
	for _, c := range run.Matrix.Contrasts {
		if c.B == cell && c.Verdict != nil {
			name := cmp.Or(run.Cells[c.A].Group, run.Cells[c.A].Name)
			if opts.Verbose || c.Verdict.Kind != stats.CantTell {
				words = append(words, term.Phrase{
					Text: "against " + name + ": " + VerdictWords(*c.Verdict, opts), Colour: term.KindColours[c.Verdict.Kind],
				})
			}
			for _, figure := range run.Matrix.Figures {
				v, judged := c.Verdicts[figure.Column]
				if judged && (opts.Verbose || v.Kind != stats.CantTell && v.Kind != c.Verdict.Kind) {
					figure.Label = "against " + name + ", " + figure.Label
					words = append(words, FigureWords(figure, v, opts))
				}
			}
		}
	}
	return words
}

// CellPhrases returns the verdicts on a cell: first on the figure that decides when the run stops, then on each other
// figure, with its name. Undecided verdicts on other figures, unless more is known of these, and those of the second family without
// a difference, are for opts.Verbose. Figures that only some cells can have are left to the experiment's own table.
func CellPhrases(run *result.Run, i int, opts term.Options) []term.Phrase {
	phrases := []term.Phrase{CellWords(run, i, opts)}
	decides := run.Cells[i].Verdict
	for _, figure := range run.Matrix.Figures {
		v, judged := run.Cells[i].Verdicts[figure.Column]
		silent := v.Kind == stats.CantTell && (figure.Second || !moreIsKnown(v, decides)) || figure.Second && v.Kind == stats.Same
		if judged && figure.Cells == 0 && (opts.Verbose || decides == nil || !silent) {
			phrases = append(phrases, FigureWords(figure, v, opts))
		}
	}
	return phrases
}

// moreIsKnown reports whether the interval of one undecided verdict is at most half as wide as that of another: on a busy machine CPU
// time often says what wall time cannot.
func moreIsKnown(v stats.Verdict, than *stats.Verdict) bool {
	width := func(e stats.Effect) float64 { return math.Log(e.Hi / e.Lo) }
	return than != nil && than.Kind == stats.CantTell && v.Typical.Bounded() &&
		(!than.Typical.Bounded() || 2*width(v.Typical) <= width(than.Typical))
}

// verdictsOf returns what was found of a cell. Where the ratio of the times that stand before it is not within the interval, since
// the machine changed from round to round, the ratio within a round explains that.
func verdictsOf(run *result.Run, i int, opts term.Options) []term.Phrase {
	phrases := CellPhrases(run, i, opts)
	at, cell := run.Against(i), run.Cells[i]
	if cell.Verdict == nil || run.Matrix.Datum == result.DatumMetric {
		at = i // times of no other cell to compare with
	}
	if base := run.Cells[at]; at != i && base.Summary != nil && cell.Summary != nil {
		ratio, v := cell.Summary.Seconds.Median/base.Summary.Seconds.Median, cell.Verdict
		if words := v.Ratio(); words != "" && (ratio < v.Typical.Lo || ratio > v.Typical.Hi) {
			phrases[0].Text += "; within a round " + words
		}
	}
	return append(phrases, contrastWords(run, i, opts)...)
}

// FigureWords returns the verdict on a figure that does not decide when the run stops.
func FigureWords(figure result.Figure, v stats.Verdict, opts term.Options) term.Phrase {
	return term.Phrase{Text: figure.Label + ": " + VerdictWords(v, opts), Colour: term.KindColours[v.Kind]}
}

// VerdictWords are a verdict as a table shows it.
func VerdictWords(v stats.Verdict, opts term.Options) string {
	if opts.Verbose {
		return v.String()
	}
	return v.Brief()
}

// CellWords returns the verdict on a cell. Where several figures are judged, it is on the one that decides when the run stops.
func CellWords(run *result.Run, i int, opts term.Options) term.Phrase {
	cell := &run.Cells[i]
	switch {
	case run.IsBaseline(i):
		return term.Phrase{Text: "baseline", Colour: term.Bold}
	case cell.Verdict != nil:
		return term.Phrase{Text: VerdictWords(*cell.Verdict, opts), Colour: term.KindColours[cell.Verdict.Kind]}
	}
	return term.Phrase{Text: "no verdict", Colour: term.Dim}
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
		show = units.CommonUnit(medians)
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

// CellLabels returns the columns in which cells differ, by cell, and their headings; no comments, which are about groups.
func CellLabels(m *result.Matrix, cells []result.Cell) ([][]string, []term.Column) {
	return labelled(cells, slices.DeleteFunc(slices.Clone(cellColumns(m, cells)), func(column result.Column) bool {
		return column.Flag == result.CommentColumn
	}))
}

// cellColumns returns the columns that the matrix names; else the group, where there is one, and the flags that differ.
func cellColumns(m *result.Matrix, cells []result.Cell) []result.Column {
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
	return wanted
}

// labelled returns the texts of these columns, by cell, and their headings.
func labelled(cells []result.Cell, wanted []result.Column) ([][]string, []term.Column) {
	labels, columns := make([][]string, len(cells)), make([]term.Column, len(wanted))
	for n, column := range wanted {
		columns[n] = term.Left(column.Title)
		if column.Flag == result.CommentColumn {
			for i, piece := range comments(cells) {
				labels[i] = append(labels[i], piece)
			}
			continue
		}
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

// comments returns a line of its group's comment for each cell: a comment is broken into no more lines than its group has
// rows.
func comments(cells []result.Cell) []string {
	pieces := make([]string, len(cells))
	for begin := 0; begin < len(cells); {
		end := begin + 1
		for end < len(cells) && cells[end].Group == cells[begin].Group {
			end++
		}
		words := strings.Fields(cells[begin].Comment)
		for width := 1; len(words) > 0; width++ {
			lines := strings.Split(strings.TrimSpace(term.Flow(words, " ", "", width)), "\n")
			if len(lines) <= end-begin {
				copy(pieces[begin:end], lines)
				break
			}
		}
		begin = end
	}
	return pieces
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

// onCPUs is "T-4" for a list of 4 CPUs, and "F (8)" for workers that float over the cell's 8; "F (1)" where these work one
// after another.
func onCPUs(cell *result.Cell, flag, value string) string {
	if value == "" {
		return fmt.Sprintf("F (%d)", cmp.Or(cell.AtOnce, cell.CPUs["cpus"].Count))
	}
	return fmt.Sprintf("T-%d", cell.CPUs[flag].Count)
}

// cellLabel returns the text of a column about a cell.
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

// GroupsBlock returns the order of the cells, as far as it is certain.
func GroupsBlock(run *result.Run, opts term.Options) string {
	if len(run.Matrix.Groups) == 0 {
		return ""
	}
	block := term.Paragraph(opts.Paint(term.Bold, "order")+": ", "the best first, by the typical ratio; each cell is better than "+
		"those of the lines below it, and within a line nothing is known", opts.Columns())
	for i, group := range run.Matrix.Groups {
		var names []string
		for _, cell := range group {
			names = append(names, run.Cells[cell].Name)
		}
		block += term.Paragraph(fmt.Sprintf("  %d  ", i+1), strings.Join(names, ", "), opts.Columns())
	}
	return block
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
		if len(m.Controls) > 0 {
			baseline = run.Cells[control.Baseline].Name
		}
		text := baseline + " against its own duplicate: " + painted(VerdictWords(control.Verdict, opts), control.Verdict.Kind, opts)
		for _, figure := range m.Figures {
			v, judged := control.Verdicts[figure.Column]
			differs := v.Kind != control.Verdict.Kind && (!figure.Second || v.Kind != stats.Same && v.Kind != stats.CantTell)
			if judged && (opts.Verbose || differs) {
				text += "; " + painted(FigureWords(figure, v, opts).Text, v.Kind, opts)
			}
		}
		block += term.Paragraph(opts.Paint(term.Bold, "control")+": ", text, opts.Columns())
	}
	if n := len(run.Cells); n > 1 && opts.Verbose {
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
		var first, second []string
		for _, figure := range m.Figures {
			if figure.Second {
				second = append(second, figure.Label)
			} else {
				first = append(first, " and by "+figure.Label)
			}
		}
		if len(first) > 0 {
			compared += ", each by wall time" + strings.Join(first, "")
		}
		block += term.Paragraph("", fmt.Sprintf("%d comparisons, %s, share the %s chance of any false verdict",
			run.Comparisons(false), compared, units.Share(m.Alpha)), opts.Columns())
		if len(second) > 0 {
			block += term.Paragraph("", fmt.Sprintf("%d comparisons by %s share another %s", run.Comparisons(true),
				Names(second), units.Share(m.Alpha)), opts.Columns())
		}
	}
	return block
}

// painted returns the text in the colour of a verdict: word by word, since a paragraph may break between any two.
func painted(text string, kind stats.Kind, opts term.Options) string {
	words := strings.Fields(text)
	for i, word := range words {
		words[i] = opts.Paint(term.KindColours[kind], word)
	}
	return strings.Join(words, " ")
}
