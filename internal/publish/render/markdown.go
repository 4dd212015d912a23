package render

import (
	"io"
	"strings"

	"gorun/internal/record/result"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
)

// markdownWidth is the width of what is shown as it is in a terminal, in columns.
const markdownWidth = 100

// Markdown shows a run to readers of a pull request or of a job's summary (GitHub Flavored Markdown): its answer, its tables, and
// what ran and where.
func (v Views) Markdown(w io.Writer, run *result.Run, _ term.Options) error {
	run = term.Clean(run)
	options, err := view.OptionsOf(run.Spec)
	if err != nil {
		return err
	}
	opts := term.Options{Width: markdownWidth}
	var page strings.Builder
	page.WriteString(view.AnswerMarkdown(v.Answer(run)))
	for _, t := range append(v.Tables(run, false), view.Quality(run, false)...) {
		page.WriteString("\n" + term.MarkdownTable(t))
	}
	page.WriteString("\n" + fenced(interrupted(run, opts), v.findingsBlock(run, opts), v.howBlock(run, options, opts)))
	for _, warning := range result.OneEach(run.Warnings) {
		page.WriteString("\n> " + term.EscapeMarkdown(warning.Message) + "\n")
	}
	_, err = io.WriteString(w, page.String())
	return err
}

// fenced returns blocks of text as one that is shown as it is.
func fenced(blocks ...string) string {
	text := term.Page(blocks)
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + fence + "\n"
}
