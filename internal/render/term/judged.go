package term

import (
	"slices"
	"strings"

	"gorun/internal/stats"
	"gorun/internal/table"
)

// Judged is a row of a grid with the phrases of its last column.
type Judged struct {
	Cells []string
	Words []Phrase
}

// Phrase is a piece of text in one tone.
type Phrase = table.Phrase

// colours are those of tones. A plain one has none.
var colours = map[table.Tone]Colour{
	table.Strong: Bold, table.Faint: Dim, table.Good: Green, table.Bad: Red, table.Doubt: Yellow,
}

// KindColour returns the colour of a verdict.
func KindColour(kind stats.Kind) Colour { return colours[table.ToneOf(kind)] }

// LeastWords is the narrowest column in which verdicts can be read: "slower: +1.1% to +2.9%," fits.
const LeastWords = 28

// JudgedGrid lays out rows with their phrases in a last column, in opts.Width columns. Where that leaves too
// little room for words, they stand below their rows instead; where the columns have no room either, all are set below each other.
func JudgedGrid(columns []Column, title string, rows []Judged, opts Options) string {
	numbers := make([][]string, len(rows))
	for i, row := range rows {
		numbers[i] = row.Cells
	}
	room := opts.Columns() - GridWidth(columns, numbers) - 2
	if room >= min(LeastWords, max(LongestPhrase(rows), Width(title))) {
		for i, row := range rows {
			numbers[i] = append(slices.Clone(row.Cells), strings.Join(WrapPhrases(row.Words, room, opts), "\n"))
		}
		return Grid(append(slices.Clone(columns), Left(title)), numbers)
	}
	if GridWidth(columns, numbers) > opts.Columns() && len(columns) > 1 {
		firsts := make([][]string, len(rows))
		for i, row := range rows {
			firsts[i] = row.Cells[:1]
		}
		room = max(12, opts.Columns()-GridWidth(columns[:1], firsts)-2)
		for i, row := range rows {
			numbers[i] = append(slices.Clone(row.Cells), strings.Join(WrapPhrases(row.Words, room, opts), "\n"))
		}
		return FoldedGrid(append(slices.Clone(columns), Left(title)), numbers, opts)
	}
	lines := slices.Collect(strings.Lines(Grid(columns, numbers)))
	first := len(lines) - len(rows) // 0 in a grid without titles
	block := strings.Join(lines[:first], "")
	for i, row := range rows {
		block += lines[first+i]
		for _, line := range WrapPhrases(row.Words, opts.Columns()-4, opts) {
			block += "    " + line + "\n"
		}
	}
	return block
}

// WrapPhrases returns the phrases as lines of at most this width; continuation lines of a phrase are indented.
func WrapPhrases(phrases []Phrase, width int, opts Options) []string {
	var lines []string
	for _, phrase := range phrases {
		words := strings.Fields(phrase.Text)
		for i, word := range words {
			room := width
			if i > 0 {
				room -= 2 // it may begin a continuation line
			}
			words[i] = Snip(word, room)
		}
		for line := range strings.Lines(Flow(words, " ", "  ", width)) {
			indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
			lines = append(lines, indent+opts.Paint(colours[phrase.Tone], strings.TrimSpace(line)))
		}
	}
	return lines
}

// LongestPhrase returns the width of the longest phrase.
func LongestPhrase(rows []Judged) int {
	width := 0
	for _, row := range rows {
		for _, phrase := range row.Words {
			width = max(width, Width(phrase.Text))
		}
	}
	return width
}

// GridWidth returns the columns of the screen that a grid takes.
func GridWidth(columns []Column, rows [][]string) int {
	width := 0
	for n, column := range columns {
		widest := Width(column.Title)
		for _, row := range rows {
			for line := range strings.Lines(row[n]) {
				widest = max(widest, Width(strings.TrimSuffix(line, "\n")))
			}
		}
		width += 2 + widest
	}
	return width
}

// Title stands above a block.
func Title(title string, opts Options) string {
	return strings.Join(WrapPhrases([]Phrase{{Text: title, Tone: table.Strong}}, opts.Columns(), opts), "\n") + "\n"
}
