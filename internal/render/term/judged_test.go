package term

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Remarks stand in a last column, or below their rows where that has no room, in grids with and without titles.
func TestJudgedGrid(t *testing.T) {
	titled, untitled := []Column{Left("cell"), Right("time")}, []Column{Left(""), Right("")}
	rows := []Judged{
		{Cells: []string{"one", "1.00 s"}, Words: []Phrase{{Text: "the baseline, which the others are compared with"}}},
		{Cells: []string{"two", "2.00 s"}, Words: []Phrase{{Text: "slower"}, {Text: "CPU time: the same"}}},
	}
	assert.Equal(t, ""+
		"  cell    time  verdict\n"+
		"  one   1.00 s  the baseline, which the others are compared with\n"+
		"  two   2.00 s  slower\n"+
		"                CPU time: the same\n", JudgedGrid(titled, "verdict", rows, Options{Width: 80}))
	below := "" +
		"    the baseline, which the others are\n" +
		"      compared with\n" +
		"  two   2.00 s\n" +
		"    slower\n" +
		"    CPU time: the same\n"
	assert.Equal(t, "  cell    time\n  one   1.00 s\n"+below, JudgedGrid(titled, "verdict", rows, Options{Width: 40}))
	assert.Equal(t, "  one  1.00 s\n"+strings.Replace(below, "two   2", "two  2", 1),
		JudgedGrid(untitled, "", rows, Options{Width: 40}), "the first line is a row")
}
