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

// newTopics makes a command of each help topic, which cobra shows by `gorun help TOPIC` since it cannot be run. A topic is
// a file whose name is the topic's, and whose first line is a heading that says what it is about.
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

// topicWidth is how wide a topic is shown, in columns.
const topicWidth = 100

// plainText lays Markdown out for a terminal: each row of a table becomes its first cell and, below it, the others under
// their titles. All else stays as it is written.
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

// tableCells returns the cells of a row of a Markdown table; nil where a line is none.
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
