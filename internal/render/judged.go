package render

import (
	"slices"
	"strings"

	"gorun/internal/stats"
)

// judged is a row of a grid, and what is said of it.
type judged struct {
	cells []string
	words []remark
}

// remark is a sentence in one colour.
type remark struct {
	text   string
	colour colour
}

// kindColours are the colours of verdicts. One that is not here has none.
var kindColours = map[stats.Kind]colour{
	stats.Slower:     red,
	stats.Faster:     green,
	stats.Same:       dim,
	stats.CantTell:   yellow,
	stats.Mixed:      yellow,
	stats.Confounded: yellow,
	stats.Invalid:    red,
}

// leastWords is the narrowest column in which verdicts can be read: "slower: +2.0% [1.1, 2.9]," fits.
const leastWords = 28

// judgedGrid lays out rows with what is said of them in a last column, in opts.Width columns. Where that leaves too
// little room for words, they stand below their rows instead.
func judgedGrid(columns []column, title string, rows []judged, opts Options) string {
	numbers := make([][]string, len(rows))
	for i, row := range rows {
		numbers[i] = row.cells
	}
	room := opts.columns() - gridWidth(columns, numbers) - 2
	if room >= min(leastWords, longest(rows)) {
		for i, row := range rows {
			numbers[i] = append(slices.Clone(row.cells), strings.Join(sayings(row.words, room, opts), "\n"))
		}
		return grid(append(slices.Clone(columns), left(title)), numbers)
	}
	lines := slices.Collect(strings.Lines(grid(columns, numbers)))
	block := lines[0]
	for i, row := range rows {
		block += lines[1+i]
		for _, line := range sayings(row.words, opts.columns()-4, opts) {
			block += "    " + line + "\n"
		}
	}
	return block
}

// sayings are the lines that remarks take; a remark's later lines are indented.
func sayings(remarks []remark, width int, opts Options) []string {
	var lines []string
	for _, remark := range remarks {
		words := strings.Fields(remark.text)
		for i, word := range words {
			words[i] = snip(word, width-2)
		}
		for line := range strings.Lines(flow(words, " ", "  ", width)) {
			indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
			lines = append(lines, indent+opts.paint(remark.colour, strings.TrimSpace(line)))
		}
	}
	return lines
}

// longest is the width of the longest remark.
func longest(rows []judged) int {
	width := 0
	for _, row := range rows {
		for _, remark := range row.words {
			width = max(width, textWidth(remark.text))
		}
	}
	return width
}

// gridWidth is how many columns of the screen a grid takes.
func gridWidth(columns []column, rows [][]string) int {
	width := 0
	for line := range strings.Lines(grid(columns, rows)) {
		width = max(width, textWidth(strings.TrimSuffix(line, "\n")))
	}
	return width
}
