package render

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// column is a column of a grid.
type column struct {
	title string
	right bool // numbers line up at the right
}

// left and right make columns by title.
func left(title string) column  { return column{title: title} }
func right(title string) column { return column{title: title, right: true} }

// grid lays out rows under their columns' titles, without rules, indented by two spaces and without trailing ones.
// Where no column has a title, there is no heading line.
func grid(columns []column, rows [][]string) string {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "  ", ""
	style.Format.Header = text.FormatDefault // it upper-cases otherwise, and "µs" would become "ΜS"
	t.SetStyle(style)

	var header table.Row
	var configs []table.ColumnConfig
	titled := false
	for i, column := range columns {
		align := text.AlignLeft
		if column.right {
			align = text.AlignRight
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
		header = append(header, column.title)
		titled = titled || column.title != ""
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
	return trimLines(t.Render())
}

// trimLines ends every line after its last visible character, and the text with a newline.
func trimLines(block string) string {
	var out strings.Builder
	for line := range strings.Lines(block) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}

// flow joins parts by sep and breaks lines between parts, where width is reached; lines after the first are indented.
func flow(parts []string, sep, indent string, width int) string {
	var out strings.Builder
	used := 0
	for i, part := range parts {
		size := textWidth(part)
		switch {
		case i == 0:
		case used+textWidth(sep)+size > width:
			out.WriteString("\n" + indent)
			used = len(indent)
		default:
			out.WriteString(sep)
			used += textWidth(sep)
		}
		out.WriteString(part)
		used += size
	}
	return out.String() + "\n"
}

// paragraph sets a sentence in lines, the first after a label and the others under its end.
func paragraph(label, sentence string, width int) string {
	indent := strings.Repeat(" ", textWidth(label))
	words := strings.Fields(sentence)
	if len(words) == 0 {
		return label + "\n"
	}
	words[0] = label + words[0]
	return flow(words, " ", indent, width)
}

// textWidth is how many columns of the screen a text takes.
func textWidth(s string) int { return text.StringWidthWithoutEscSequences(s) }

// snip cuts a text that takes more columns than width, and ends it with "…" then.
func snip(s string, width int) string { return text.Snip(s, width, "…") }

// pad fills a text with blanks up to a width.
func pad(s string, width int) string { return text.Pad(s, width, ' ') }
