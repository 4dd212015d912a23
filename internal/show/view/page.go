package view

import (
	"strings"

	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/term"
)

// Page is what people read of a document: the answer first, then what supports it.
type Page struct {
	Answer   []Statement
	Copied   Text   // a line right below the answer that is never broken, so that it can be copied; nil: none
	Above    []Text // what a terminal shows above the tables
	Tables   []table.Table
	Below    []Text // what is said below the tables, such as how a run was measured
	Warnings []result.Warning
}

// Text is a block of text that is laid out for an output.
type Text func(opts term.Options) string

// Warnings returns warnings without hints.
func Warnings(messages []string) (warnings []result.Warning) {
	for _, message := range messages {
		warnings = append(warnings, result.Warning{Message: message})
	}
	return warnings
}

// Text lays the page out for a terminal, in opts.Width columns.
func (p Page) Text(opts term.Options) string {
	answer := AnswerBlock(p.Answer, opts)
	if p.Copied != nil {
		answer += p.Copied(opts)
	}
	blocks := append([]string{answer}, laidOut(p.Above, opts)...)
	for _, t := range p.Tables {
		blocks = append(blocks, term.Table(t, opts))
	}
	blocks = append(blocks, laidOut(p.Below, opts)...)
	return term.Page(append(blocks, p.warnings(opts)))
}

func laidOut(texts []Text, opts term.Options) (blocks []string) {
	for _, text := range texts {
		blocks = append(blocks, text(opts))
	}
	return blocks
}

// warnings are the footnotes. A hint that several in a row have stands after the last of them.
func (p Page) warnings(opts term.Options) (block string) {
	if len(p.Warnings) == 0 {
		return ""
	}
	block = opts.Paint(term.Bold, "Warnings:") + "\n"
	for i, warning := range p.Warnings {
		block += term.Paragraph("  ! ", warning.Message, opts.Columns())
		if warning.Hint == "" || i+1 < len(p.Warnings) && p.Warnings[i+1].Hint == warning.Hint {
			continue
		}
		block += term.Paragraph("    hint: ", warning.Hint, opts.Columns())
	}
	return block
}

// markdownWidth is the width of what Markdown shows as a terminal does, in columns.
const markdownWidth = 100

// Markdown lays the page out in GitHub Flavored Markdown, without what only a terminal shows.
func (p Page) Markdown() string {
	page := AnswerMarkdown(p.Answer)
	for _, t := range p.Tables {
		page += "\n" + term.MarkdownTable(t)
	}
	if len(p.Below) > 0 {
		page += "\n" + fenced(term.Page(laidOut(p.Below, term.Options{Width: markdownWidth})))
	}
	for _, warning := range p.Warnings {
		page += "\n> " + term.EscapeMarkdown(warning.Message) + "\n"
	}
	return page
}

// fenced returns a text that Markdown shows as it is.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + fence + "\n"
}
