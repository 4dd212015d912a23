package manual

import (
	"strings"

	"gorun/internal/render/term"
)

// Text returns a document as a terminal shows it, in lines of opts.Columns() columns. Code stays as it is, indented by two
// columns. Of each row of a table the first cell is shown, and the others below it with the titles of their columns.
func Text(markdown string, opts term.Options) string {
	var out strings.Builder
	for i, b := range parse(markdown) {
		if i > 0 {
			out.WriteString("\n")
		}
		out.WriteString(b.show(opts))
	}
	return out.String()
}

func (b block) show(opts term.Options) string {
	width := opts.Columns()
	switch b.kind {
	case heading:
		return term.Title(plain(b.text), opts)
	case code:
		all := ""
		for _, line := range b.lines {
			all += strings.TrimRight("  "+line, " ") + "\n"
		}
		return all
	case list:
		all := ""
		for _, i := range b.items {
			all += term.Paragraph("  "+i.mark+" ", plain(i.text), width)
		}
		return all
	case table:
		all := ""
		for _, row := range b.rows {
			all += term.Paragraph("  ", plain(row[0]), width)
			for column, cell := range row[1:] {
				if cell != "" {
					all += term.Paragraph("      "+b.label(column+1), plain(cell), width)
				}
			}
		}
		return all
	}
	return term.Paragraph("", plain(b.text), width)
}

// label returns what stands before a cell of a column. Tables of two columns need none.
func (b block) label(column int) string {
	if len(b.heads) <= 2 || column >= len(b.heads) || b.heads[column] == "" {
		return ""
	}
	return b.heads[column] + ": "
}

// plain returns a text without the marks of emphasis and links. Those of code stay, since they show where a command begins and
// ends.
func plain(text string) string {
	var out strings.Builder
	for _, s := range spans(text) {
		switch s.style {
		case "code":
			out.WriteString("`" + s.text + "`")
		case "link":
			out.WriteString(s.text + " (" + s.to + ")")
		default:
			out.WriteString(s.text)
		}
	}
	return out.String()
}
