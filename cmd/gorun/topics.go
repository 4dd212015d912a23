package main

import (
	"embed"
	"io/fs"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"gorun/internal/render/term"
)

//go:embed topics/*.md
var topics embed.FS

// newTopics returns a command for each help topic, which `gorun help TOPIC` prints, since a command without a function is
// help only. Each topic is a file of its name, whose first line is a heading.
func newTopics() (all []*cobra.Command) {
	files, _ := fs.Glob(topics, "topics/*.md") // the pattern is a good one
	for _, file := range files {
		text, _ := topics.ReadFile(file) // embedded
		title, body, _ := strings.Cut(string(text), "\n")
		all = append(all, &cobra.Command{
			Use:   strings.TrimSuffix(path.Base(file), ".md"),
			Short: strings.TrimPrefix(title, "# "),
			Long:  strings.TrimSpace(plainText(body)),
		})
	}
	return all
}

// topicWidth is the width of a printed topic, in columns.
const topicWidth = 100

// plainText returns Markdown as text for a terminal: of each row of a table the first cell and, indented below it, the others
// with the titles of their columns. Everything else stays as it is.
func plainText(markdown string) string {
	var out strings.Builder
	var titles []string
	for line := range strings.Lines(markdown) {
		cells := tableCells(line)
		switch {
		case cells == nil:
			titles = nil
			out.WriteString(line)
		case titles == nil:
			titles = cells
		case strings.HasPrefix(cells[0], "---"):
		default:
			out.WriteString(term.Flow(strings.Fields(cells[0]), " ", "  ", topicWidth))
			for i, cell := range cells[1:] {
				out.WriteString("    " + term.Paragraph(titles[1+i]+": ", cell, topicWidth-4))
			}
		}
	}
	return out.String()
}

// tableCells returns the cells of a row of a Markdown table; nil if the line is not a row.
func tableCells(line string) []string {
	inside, ok := strings.CutPrefix(strings.TrimSpace(line), "| ")
	if !ok {
		return nil
	}
	cells := strings.Split(strings.TrimSuffix(inside, " |"), " | ")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}
