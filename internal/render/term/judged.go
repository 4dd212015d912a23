package term

import (
	"slices"
	"strings"

	"gorun/internal/stats"
)

// Judged is a row of a grid with the phrases of its last column.
type Judged struct {
	Cells []string
	Words []Phrase
}

// Phrase is a piece of text in one colour.
type Phrase struct {
	Text   string
	Colour Colour
}

// KindColours are the colours of verdicts. One that is not here has none.
var KindColours = map[stats.Kind]Colour{
	stats.Slower:     Red,
	stats.Faster:     Green,
	stats.Same:       Dim,
	stats.CantTell:   Yellow,
	stats.Mixed:      Yellow,
	stats.Confounded: Yellow,
	stats.Invalid:    Red,
}

// LeastWords is the narrowest column in which verdicts can be read: "slower: +1.1% to +2.9%," fits.
const LeastWords = 28

// JudgedGrid lays out rows with their phrases in a last column, in opts.Width columns. Where that leaves too
// little room for words, they stand below their rows instead.
func JudgedGrid(columns []Column, title string, rows []Judged, opts Options) string {
	numbers := make([][]string, len(rows))
	for i, row := range rows {
		numbers[i] = row.Cells
	}
	room := opts.Columns() - GridWidth(columns, numbers) - 2
	if room >= min(LeastWords, LongestPhrase(rows)) {
		for i, row := range rows {
			numbers[i] = append(slices.Clone(row.Cells), strings.Join(WrapPhrases(row.Words, room, opts), "\n"))
		}
		return Grid(append(slices.Clone(columns), Left(title)), numbers)
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
			words[i] = Snip(word, width-2)
		}
		for line := range strings.Lines(Flow(words, " ", "  ", width)) {
			indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
			lines = append(lines, indent+opts.Paint(phrase.Colour, strings.TrimSpace(line)))
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
	for line := range strings.Lines(Grid(columns, rows)) {
		width = max(width, Width(strings.TrimSuffix(line, "\n")))
	}
	return width
}

// Title stands above a block.
func Title(title string, opts Options) string {
	return strings.Join(WrapPhrases([]Phrase{{title, Bold}}, opts.Columns(), opts), "\n") + "\n"
}
