package term

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// vt is a terminal of some lines, and counts those that it scrolled off.
type vt struct {
	t            *testing.T
	width        int
	lines        []string
	row, scrolls int
	column       int
}

// vtToken is what a terminal reads at once: an escape sequence, or a character.
var vtToken = regexp.MustCompile("\x1b\\[([0-9]*)([A-Z])|\x1b\\[[0-9;]*m|(?s:.)")

func (v *vt) Write(p []byte) (int, error) {
	for _, m := range vtToken.FindAllStringSubmatch(string(p), -1) {
		switch {
		case m[2] == "A":
			n, err := strconv.Atoi(m[1])
			require.NoError(v.t, err)
			v.row -= n
			require.GreaterOrEqual(v.t, v.row, 0, "the cursor leaves the screen")
		case m[2] == "K":
			v.lines[v.row] = string([]rune(v.lines[v.row])[:min(v.column, len([]rune(v.lines[v.row])))])
		case m[2] != "":
			v.t.Errorf("%q may move the screen into the scroll-back", m[0])
		case m[0] == "\r":
			v.column = 0
		case m[0] == "\n":
			if v.row++; v.row == len(v.lines) {
				v.lines, v.row = append(v.lines[1:], ""), v.row-1
				v.scrolls++
			}
		case strings.HasPrefix(m[0], "\x1b"):
		default:
			line := []rune(v.lines[v.row] + strings.Repeat(" ", max(0, v.column-len([]rune(v.lines[v.row])))))
			v.lines[v.row] = string(line[:v.column]) + m[0] + string(line[min(len(line), v.column+1):])
			v.column++
			require.Less(v.t, v.column, v.width, "a full last column wraps")
		}
	}
	return len(p), nil
}

// resize makes the terminal narrower or wider: it wraps each line that it shows, as most terminals do, and the cursor stays where it is
// in its line.
func (v *vt) resize(width int) {
	var lines []string
	row := 0
	for i, line := range v.lines {
		runes := []rune(line)
		for len(runes) > width {
			lines, runes = append(lines, string(runes[:width])), runes[width:]
		}
		lines = append(lines, string(runes))
		if i == v.row {
			row = len(lines) - 1
		}
	}
	over := max(0, row+1-len(v.lines)) // the lines below the cursor are empty
	v.width, v.row, v.column = width, row-over, min(v.column, width-1)
	v.lines = append(lines[over:], make([]string, len(v.lines))...)[:len(v.lines)]
}

// A terminal that becomes narrower, and wraps what it shows, has nothing left of the table or the line that was drawn before.
func TestProgressSurvivesAShrinkingWindow(t *testing.T) {
	for _, widths := range [][]int{{80, 40}, {80, 30, 100, 50}, {120, 37, 36}} {
		synctest.Test(t, func(t *testing.T) {
			v := &vt{t: t, width: widths[0], lines: make([]string, 40)}
			opts := Options{Terminal: true, Size: func() (int, int, error) { return v.width, 40, nil }}
			board := &Scoreboard{W: v, Opts: opts}
			var line drawn
			for _, width := range widths {
				v.resize(width)
				board.Draw(standing(4))
				assert.Equal(t, 1, strings.Count(strings.Join(v.lines, "\n"), "12 rounds"), "%v: %q", widths, v.lines)
				time.Sleep(drawEvery)
			}
			board.Erase()
			for _, width := range widths {
				v.resize(width)
				fmt.Fprint(v, line.frame([]string{strings.Repeat("primes ", 40)}, opts.now()))
			}
			fmt.Fprint(v, line.frame([]string{""}, opts.now()))
			assert.Empty(t, strings.Join(v.lines, ""))
			assert.Zero(t, v.row)
		})
	}
}

// However many frames are drawn, a terminal scrolls once at most: when the table first needs more lines than there are below the
// cursor. Nothing of the table is left at its end.
func TestScoreboardLeavesNothingInTheScrollBack(t *testing.T) {
	for _, cells := range []int{1, 5, 22, 60} {
		synctest.Test(t, func(t *testing.T) {
			const height = 24
			v := &vt{t: t, width: 80, lines: make([]string, height)}
			for i := range 15 {
				fmt.Fprintf(v, "line %d\r\n", i)
			}
			board := &Scoreboard{W: v, Opts: Options{Terminal: true, Width: 80, Height: height}}
			most := 0
			for i := range 20 {
				now := standing(cells)
				if i%7 == 3 { // fewer cells are known
					now.Cells = now.Cells[:1]
				}
				most = max(most, len(scoreLines(now, board.Opts)))
				board.Draw(now)
				now.Running = ""
				time.Sleep(drawEvery)
			}
			board.Erase()
			assert.Equal(t, max(0, 15+most-height), v.scrolls)
			if v.row > 0 {
				assert.Equal(t, "line 14", v.lines[v.row-1])
			}
			assert.Empty(t, strings.Join(v.lines[v.row:], ""), "nothing of the table is left")
		})
	}
}
