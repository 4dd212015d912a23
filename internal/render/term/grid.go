package term

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/lazy"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Column is a column of a grid.
type Column struct {
	Title string
	Right bool // numbers line up at the right
}

// Left and right make columns by title.
func Left(title string) Column  { return Column{Title: title} }
func Right(title string) Column { return Column{Title: title, Right: true} }

// Grid lays out rows under their columns' titles, without rules, indented by two spaces and without trailing ones.
// Where no column has a title, there is no heading line.
func Grid(columns []Column, rows [][]string) string {
	t := table.NewWriter()
	var header table.Row
	var configs []table.ColumnConfig
	titled := false
	for i, column := range columns {
		align := text.AlignLeft
		if column.Right {
			align = text.AlignRight
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
		header = append(header, column.Title)
		titled = titled || column.Title != ""
	}
	t.SetColumnConfigs(configs)
	if titled {
		t.AppendHeader(header)
	}
	for _, row := range rows {
		cells := make(table.Row, len(row))
		for i, cell := range row {
			cells[i] = cell
		}
		t.AppendRow(cells)
	}
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "  ", ""
	style.Format.Header = text.FormatDefault // it upper-cases otherwise, and "µs" would become "ΜS"
	t.SetStyle(style)
	return TrimLines(t.Render())
}

// MarkdownGrid lays out rows as a table of GitHub Flavored Markdown, which always has a heading line.
func MarkdownGrid(columns []Column, rows [][]string) string {
	heading, rule := make([]string, len(columns)), "|"
	for i, column := range columns {
		heading[i] = column.Title
		if column.Right {
			rule += " ---:|"
		} else {
			rule += ":--- |"
		}
	}
	var out strings.Builder
	line := func(cells []string) {
		out.WriteString("|")
		for _, cell := range cells {
			out.WriteString(" " + EscapeMarkdown(cell) + " |")
		}
		out.WriteString("\n")
	}
	line(heading)
	out.WriteString(rule + "\n")
	for _, row := range rows {
		line(row)
	}
	return out.String()
}

var (
	// markdownMark has what Markdown reads as markup anywhere in a line. It makes links of addresses by itself; "$" is GitHub's mark
	// of mathematics.
	markdownMark = lazy.Regexp("[\\\\`*_{}\\[\\]<>#|~&$]|://|(?i:\\bwww\\.)")
	// markdownStart has what makes the beginning of a line an item of a list, or a line a rule.
	markdownStart = lazy.Regexp(`^(\d*)([-+.)]-*)( |$)`)
)

// EscapeMarkdown returns text that Markdown shows as it is, in one line.
func EscapeMarkdown(text string) string {
	text = markdownMark().ReplaceAllStringFunc(strings.Join(strings.Fields(text), " "), func(mark string) string {
		if name, dot := strings.CutSuffix(mark, "."); dot {
			return name + `\.`
		}
		return `\` + mark
	})
	return markdownStart().ReplaceAllString(text, `$1\$2$3`)
}

// TrimLines ends every line after its last visible character, and the text with a newline.
func TrimLines(block string) string {
	var out strings.Builder
	for line := range strings.Lines(block) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}

// Flow joins parts by sep and breaks lines between parts, where width is reached; lines after the first are indented.
func Flow(parts []string, sep, indent string, width int) string {
	var out strings.Builder
	used := 0
	for i, part := range parts {
		size := Width(part)
		switch {
		case i == 0:
		case used+Width(sep)+size > width:
			out.WriteString("\n" + indent)
			used = len(indent)
		default:
			out.WriteString(sep)
			used += Width(sep)
		}
		out.WriteString(part)
		used += size
	}
	return out.String() + "\n"
}

// Paragraph sets a sentence in lines, the first after a label and the others under its end.
func Paragraph(label, sentence string, width int) string {
	indent := strings.Repeat(" ", Width(label))
	words := strings.Fields(sentence)
	if len(words) == 0 {
		return label + "\n"
	}
	words[0] = label + words[0]
	return Flow(words, " ", indent, width)
}

// Width returns the columns of the screen that a text takes.
func Width(s string) int { return text.StringWidthWithoutEscSequences(s) }

// Snip cuts a text that takes more columns than width, and ends it with "…" then.
func Snip(s string, width int) string { return text.Snip(s, width, "…") }

// Apart makes names fit a width so that each is still another one. Where one does not fit, the words that all have are left out, and
// what is longer still is cut in its middle, since names differ at their beginnings or ends; a number tells those apart that do not.
func Apart(names []string, width int) []string {
	short := slices.Clone(names)
	if !slices.ContainsFunc(names, func(name string) bool { return Width(name) > width }) {
		return short
	}
	inAll := func(word string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(strings.Fields(name), word) })
	}
	for i, name := range names {
		words := slices.DeleteFunc(strings.Fields(name), inAll)
		short[i] = cutMiddle(cmp.Or(strings.Join(words, " "), name), width)
		if slices.Contains(short[:i], short[i]) {
			short[i] = Snip(fmt.Sprintf("%d: %s", i, short[i]), width)
		}
	}
	return short
}

// cutMiddle makes a text fit a width by "…" in its middle.
func cutMiddle(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	head, tail := text.Trim(s, width/2), []rune(s)
	for len(tail) > 0 && Width(head)+1+Width(string(tail)) > width {
		tail = tail[1:]
	}
	return head + "…" + string(tail)
}

// Pad fills a text with blanks up to a width.
func Pad(s string, width int) string { return text.Pad(s, width, ' ') }

// FoldedGrid is a grid whose columns are set below each other where they do not fit, with the first before each part.
func FoldedGrid(columns []Column, rows [][]string, opts Options) string {
	part := func(from, to int) ([]Column, [][]string) {
		some := append([]Column{columns[0]}, columns[from:to]...)
		cells := make([][]string, len(rows))
		for i, row := range rows {
			cells[i] = append([]string{row[0]}, row[from:to]...)
		}
		return some, cells
	}
	if len(columns) == 1 {
		return Grid(columns, rows)
	}
	var blocks []string
	for from := 1; from < len(columns); {
		to := from + 1
		for to < len(columns) && GridWidth(part(from, to+1)) <= opts.Columns() {
			to++
		}
		blocks = append(blocks, Grid(part(from, to)))
		from = to
	}
	return Page(blocks)
}

// Page sets blocks under each other, with an empty line between two. Empty blocks are left out.
func Page(blocks []string) string {
	blocks = slices.DeleteFunc(blocks, func(block string) bool { return block == "" })
	return strings.Join(blocks, "\n")
}

// Shorten cuts a list after a comma, where it is longer than limit.
func Shorten(list string, limit int) string {
	if limit = max(limit, 0); len(list) <= limit {
		return list
	}
	return list[:strings.LastIndexByte(list[:limit], ',')+1] + "…"
}
