// Package manual shows Markdown on a terminal and as a man page. It knows what gorun's help topics use of Markdown
// (https://spec.commonmark.org, and tables as GitHub has them): headings, paragraphs, lists of one level, code blocks, tables,
// and in a text `code`, *emphasis*, **strong emphasis** and [links](https://example.org). The libraries that do the same add
// half a millisecond to the start of every process, and gorun starts one for each sample.
package manual

import (
	"regexp"
	"strings"
)

// kind distinguishes the blocks of a document.
type kind int

const (
	paragraph kind = iota
	heading
	list
	code
	table
)

// block is a part of a document that stands below the one before it.
type block struct {
	kind  kind
	level int      // of a heading, from 1
	text  string   // of a paragraph or heading, in one line
	lines []string // of code
	items []item   // of a list
	rows  [][]string
	heads []string // of a table's columns
}

// item is an entry of a list.
type item struct{ mark, text string }

var (
	headingLine = regexp.MustCompile(`^(#+) +(.*)$`)
	itemLine    = regexp.MustCompile(`^(-|\d+\.) +(.*)$`)
	ruleLine    = regexp.MustCompile(`^\|[-| :]+\|$`)
)

// parse returns the blocks of a document.
func parse(markdown string) (blocks []block) {
	last := func() *block { return &blocks[len(blocks)-1] }
	fenced, open := false, false // whether the last block takes more lines: those of a code block, and those of any other
	for line := range strings.Lines(markdown) {
		line = strings.TrimRight(line, " \t\n")
		is := func(k kind) bool { return open && last().kind == k }
		begin := func(b block) { blocks, open = append(blocks, b), true }
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
			if fenced {
				begin(block{kind: code})
			}
			open = false
		case fenced:
			last().lines = append(last().lines, line)
		case line == "":
			open = false
		case headingLine.MatchString(line):
			found := headingLine.FindStringSubmatch(line)
			begin(block{kind: heading, level: len(found[1]), text: found[2]})
			open = false
		case ruleLine.MatchString(line) && is(table):
		case strings.HasPrefix(line, "|"):
			if cells := tableCells(line); is(table) {
				last().rows = append(last().rows, cells)
			} else {
				begin(block{kind: table, heads: cells})
			}
		case itemLine.MatchString(line):
			found := itemLine.FindStringSubmatch(line)
			if !is(list) {
				begin(block{kind: list})
			}
			last().items = append(last().items, item{found[1], found[2]})
		case is(list):
			i := &last().items[len(last().items)-1]
			i.text += " " + strings.TrimSpace(line)
		case (line[0] == '\t' || strings.HasPrefix(line, "  ")) && !is(paragraph):
			if !is(code) {
				begin(block{kind: code})
			}
			last().lines = append(last().lines, strings.TrimPrefix(strings.TrimPrefix(line, "\t"), "  "))
		case is(paragraph):
			last().text += " " + strings.TrimSpace(line)
		default:
			begin(block{kind: paragraph, text: strings.TrimSpace(line)})
		}
	}
	return blocks
}

// Rows returns the rows of a document's tables, without their headings.
func Rows(markdown string) (rows [][]string) {
	for _, b := range parse(markdown) {
		rows = append(rows, b.rows...)
	}
	return rows
}

// tableCells returns the cells of a row of a table. A bar in a cell is written \|.
func tableCells(row string) (cells []string) {
	const bar = "\x00"
	row = strings.ReplaceAll(strings.Trim(row, "|"), `\|`, bar)
	for cell := range strings.SplitSeq(row, "|") {
		cells = append(cells, strings.TrimSpace(strings.ReplaceAll(cell, bar, "|")))
	}
	return cells
}

// span is a part of a text that is shown alike.
type span struct {
	style string // "", "code", "emphasis", "strong" or "link"
	text  string
	to    string // what a link leads to
}

// inline matches code, strong emphasis, emphasis and links. Emphasis begins and ends at a letter, a digit or a bracket.
var inline = regexp.MustCompile("`([^`]+)`" + `|\*\*([^*\s](?:[^*]*[^*\s])?)\*\*|\*([^*\s](?:[^*]*[^*\s])?)\*|\[([^\]]+)\]\((https?:[^)\s]+)\)`)

// spans returns the parts of a text.
func spans(text string) (all []span) {
	at := 0
	for _, m := range inline.FindAllStringSubmatchIndex(text, -1) {
		group := func(i int) string { return text[m[2*i]:m[2*i+1]] }
		if m[0] > at {
			all = append(all, span{text: text[at:m[0]]})
		}
		switch at = m[1]; {
		case m[2] >= 0:
			all = append(all, span{style: "code", text: group(1)})
		case m[4] >= 0:
			all = append(all, span{style: "strong", text: group(2)})
		case m[6] >= 0:
			all = append(all, span{style: "emphasis", text: group(3)})
		default:
			all = append(all, span{style: "link", text: group(4), to: group(5)})
		}
	}
	if at < len(text) {
		all = append(all, span{text: text[at:]})
	}
	return all
}
