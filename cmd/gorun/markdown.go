package main

import (
	"strings"

	"gorun/internal/base/lazy"
	"gorun/internal/show/term"
)

var (
	itemLine = lazy.Regexp(`^(?:-|\d+\.) `)
	link     = lazy.Regexp(`\[([^\]]+)\]\((https?:[^)\s]+)\)`)
	// emphasis begins and ends at a letter, a digit or a bracket. Code comes first, and stays as it is.
	emphasis = lazy.Regexp("(`[^`]+`)" + `|\*\*([^*\s](?:[^*]*[^*\s])?)\*\*|\*([^*\s](?:[^*]*[^*\s])?)\*`)
)

// markdown shows what topics have of Markdown in lines of opts.Columns() columns: headings, paragraphs, lists of one level, code
// and tables. Of each row of a table the first cell is shown, and the others below it with the titles of their columns, if there
// are more than two. The libraries that show Markdown take half a millisecond when a process starts.
func markdown(text string, opts term.Options) string {
	var out strings.Builder
	label, open := "", "" // of the paragraph or item that may go on
	show := func(label, text string) {
		text = emphasis().ReplaceAllString(link().ReplaceAllString(text, "$1 ($2)"), "$1$2$3")
		out.WriteString(term.Paragraph(label, text, opts.Columns()))
	}
	end := func() {
		if open != "" {
			show(label, open)
		}
		label, open = "", ""
	}
	fenced := false
	var titles []string // of the open table's columns
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\n")
		mark := itemLine().FindString(line)
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced:
			out.WriteString(strings.TrimRight("  "+line, " ") + "\n")
		case strings.HasPrefix(line, "  ") && open == "":
			out.WriteString(line + "\n")
		case line == "":
			end()
			titles = nil
			out.WriteString("\n")
		case line[0] == '#':
			out.WriteString(term.Title(strings.TrimLeft(line, "# "), opts))
		case strings.HasPrefix(line, "| ---"):
		case line[0] == '|' && titles == nil:
			titles = tableRow(line, nil)
		case line[0] == '|':
			for i, cell := range tableRow(line, titles) {
				show(strings.Repeat(" ", 2+4*min(i, 1)), cell)
			}
		case mark != "":
			end()
			label, open = "  "+mark, line[len(mark):]
		default:
			open += " " + line
		}
	}
	end()
	return out.String()
}

// tableRow returns the cells of a row that are not empty, those after the first with the titles of their columns, if there are more
// than two. A bar in a cell is written \|.
func tableRow(line string, titles []string) (cells []string) {
	line = strings.ReplaceAll(strings.Trim(line, "| "), `\|`, "\x00")
	for i, cell := range strings.Split(line, "|") {
		cell = strings.TrimSpace(strings.ReplaceAll(cell, "\x00", "|"))
		if cell != "" && i > 0 && len(titles) > 2 && titles[i] != "" {
			cell = titles[i] + ": " + cell
		}
		if cell != "" || titles == nil {
			cells = append(cells, cell)
		}
	}
	return cells
}
