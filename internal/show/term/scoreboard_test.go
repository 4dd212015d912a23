package term

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// vt is a terminal of some lines, and counts those that it scrolled off.
type vt struct {
	t            require.TestingT
	width        int
	lines        []string
	row, scrolls int
	column       int
}

func newVT(t require.TestingT, width, height int) *vt {
	return &vt{t: t, width: width, lines: make([]string, height)}
}

// vtToken is what a terminal reads at once: an escape sequence, or a character.
var vtToken = regexp.MustCompile("\x1b\\[([0-9]*)([A-Z])|\x1b\\[[0-9;]*m|(?s:.)")

func (v *vt) Write(p []byte) (int, error) {
	for _, m := range vtToken.FindAllStringSubmatch(string(p), -1) {
		line := []rune(v.lines[v.row])
		switch {
		case m[2] == "A":
			n, err := strconv.Atoi(m[1])
			require.NoError(v.t, err)
			v.row -= n
			require.GreaterOrEqual(v.t, v.row, 0, "the cursor leaves the screen")
		case m[2] == "K":
			v.lines[v.row] = string(line[:min(v.column, len(line))])
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
		for part := range slices.Chunk([]rune(line), width) {
			lines = append(lines, string(part))
		}
		if line == "" {
			lines = append(lines, "")
		}
		if i == v.row {
			row = len(lines) - 1
		}
	}
	over := max(0, row+1-len(v.lines)) // the lines below the cursor are empty
	v.width, v.row, v.column = width, row-over, min(v.column, width-1)
	v.lines = append(lines[over:], make([]string, len(v.lines))...)[:len(v.lines)]
}

func (v *vt) shown() string { return strings.TrimRight(strings.Join(v.lines, "\n"), "\n") }

// judgement is a verdict on a difference of so many per cent, and its interval.
func judgement(kind stats.Kind, ratio, lo, hi float64) stats.Verdict {
	return stats.Verdict{
		Kind: kind, Typical: stats.Effect{Ratio: 1 + ratio/100, Lo: 1 + lo/100, Hi: 1 + hi/100},
		Rounds: 12, Margin: 0.02, Step: 0.001,
	}
}

// interim is a matrix of which every third cell is decided.
func interim(cells int) result.Interim {
	s := result.Interim{
		Running: "workers=2", Samples: 120, Rounds: 12, Elapsed: 61.4, Left: 83, Control: judgement(stats.CantTell, 0, -1.2, 3.4),
	}
	for i := range cells {
		cell := result.InterimCell{
			Name: fmt.Sprintf("workers=%d", i), Seconds: 0.161 + 0.01*float64(i), Open: true,
			Baseline: i == 1, Verdict: judgement(stats.CantTell, 1, -1.2, 3.4),
		}
		if i%3 == 2 {
			cell.Open, cell.Verdict = false, judgement(stats.Slower, 12, 11, 13)
		}
		s.Cells = append(s.Cells, cell)
	}
	return s
}

func TestScoreboardIsRedrawnInItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVT(t, 120, 10)
		board := &Scoreboard{W: v, Opts: Options{Terminal: true, Width: 120}}
		board.Erase() // nothing yet
		now := interim(4)
		now.Cells[3] = result.InterimCell{Name: "new", Open: true}
		board.Draw(now)
		board.Draw(interim(1)) // too soon
		assert.Equal(t, strings.Join([]string{
			"12 rounds · 1m1s · at most 1m23s left · runs workers=2 · control −1.2% to +3.4% · 120 samples",
			"  cell          time  difference      verdict",
			"  workers=0  0.161 s  −1.2% to +3.4%  can't tell yet",
			"  workers=1  0.171 s  −1.2% to +3.4%  baseline",
			"  workers=2  0.181 s  +11% to +13%    slower",
			"  new              -                  can't tell yet",
		}, "\n"), v.shown())
		time.Sleep(drawEvery)
		// The median and the difference of a rate are those of the rate, not of the time that it stands for.
		now = interim(1)
		now.Running, now.Left, now.Planned, now.Label, now.Control = "", -1, 25, "requests", judgement(stats.Same, 0, -1, 1)
		now.Control.Rate, now.Cells[0].Seconds, now.Cells[0].Verdict.Rate = true, 1/60210.0, true
		board.Draw(now)
		assert.Equal(t, strings.Join([]string{
			"12 of 25 rounds · 1m1s · control same · 120 samples",
			"  cell       requests  difference      verdict",
			"  workers=0    60.2 k  −3.3% to +1.3%  can't tell yet",
		}, "\n"), v.shown())
		time.Sleep(drawEvery)
		// A cell may be judged by another figure than the control of the first baseline.
		now.Control.Rate, now.Cells[0].By = false, &result.JudgedFigure{Label: "req/s", Better: result.Higher}
		board.Draw(now)
		assert.Contains(t, v.shown(), "60210 req/s")
		board.Erase()
		board.Erase() // nothing more
		assert.Empty(t, v.shown())
		assert.Zero(t, v.row)
	})
}

// A line too many or too long would scroll, and what is drawn next would stand in the wrong place.
func TestScoreboardFitsItsTerminal(t *testing.T) {
	ends := []string{"yet", "baseline", "slower"}
	rapid.Check(t, func(t *rapid.T) {
		opts := Options{
			Terminal: true, Colour: rapid.Bool().Draw(t, "colour"),
			Width: rapid.IntRange(2, 130).Draw(t, "width"), Height: rapid.IntRange(1, 40).Draw(t, "height"),
		}
		now := interim(rapid.IntRange(0, 60).Draw(t, "cells"))
		if rapid.Bool().Draw(t, "long") {
			now.Cells = append(now.Cells, result.InterimCell{Name: "workers=" + strings.Repeat("x", 150), Open: true})
		}
		v := newVT(t, opts.Width, opts.Height)
		(&Scoreboard{W: v, Opts: opts}).Draw(now)
		require.Zero(t, v.scrolls)
		shown := 0
		for _, line := range v.lines[1:] {
			if strings.Contains(line, "workers=") {
				shown++
				verdict := strings.Fields(line)
				require.True(t, opts.Width < 60 || slices.Contains(ends, verdict[len(verdict)-1]), "%q", line)
			}
		}
		if opts.Width > 60 && opts.Height > 2 && shown < len(now.Cells) {
			require.Equal(t, fmt.Sprintf("  … and %d more", len(now.Cells)-shown), v.lines[opts.Height-1], "no line is left unused")
		}
	})
	lines := scoreLines(interim(12), Options{Height: 8})
	for i, first := range []string{"1 ", "0 ", "3 ", "4 ", "6 "} {
		assert.Contains(t, lines[2+i], "workers="+first, "the baseline and open cells")
	}
}

// Where each cell has a claim, what follows only makes intervals narrower, and the user may end it.
func TestScoreboardSaysThatAllIsDecided(t *testing.T) {
	const words = "decided; narrowing: Ctrl-C keeps the result"
	of := func(change func(cells []result.InterimCell)) string {
		now := interim(4)
		for i := range now.Cells {
			now.Cells[i].Verdict.Kind = [...]stats.Kind{stats.Slower, stats.CantTell, stats.Same, stats.Mixed}[i] // the second is the baseline
		}
		change(now.Cells)
		return scoreHead(now, Options{Width: 200})
	}
	assert.Contains(t, of(func([]result.InterimCell) {}), "1m1s · "+words+" · at most 1m23s left")
	assert.Contains(t, of(func(c []result.InterimCell) { c[2].Verdict.Kind, c[2].Open = stats.Invalid, false }), words, "it is given up")
	assert.NotContains(t, of(func(c []result.InterimCell) { c[3].Verdict.Kind = stats.CantTell }), words)
	assert.NotContains(t, of(func(c []result.InterimCell) { c[3].Verdict.Kind = "" }), words, "nothing is known")
	assert.NotContains(t, of(func(c []result.InterimCell) { c[0].Open, c[3].Open = false, false }), words, "the run ends")
}

// A name that is long does not push what follows it out of the line.
func TestProgressShortensNames(t *testing.T) {
	now := interim(1)
	now.Running = "a" + strings.Repeat("x", 150) + "z"
	for _, width := range []int{100, 130, 160} {
		head := scoreHead(now, Options{Width: width})
		assert.Equal(t, width-1, Width(head))
		assert.Regexp(t, `runs ax+…x+z · control −1.2% to \+3.4% · 120 samples$`, head)
		line := Progress{What: "bench", Now: func() string { return now.Running }}.line(result.State{Threads: 9}, 0, Options{Width: width})
		assert.Equal(t, width-1, Width(line))
		assert.Regexp(t, `^bench: ax+…x+z · 0s · 9 threads$`, line)
	}
}

// A decided verdict on another figure stands beside the one that it disagrees with.
func TestScoreboardShowsFiguresThatDisagree(t *testing.T) {
	figures := []result.JudgedFigure{{Column: "cpu_seconds", Label: "CPU time"}}
	for _, c := range []struct {
		wall, cpu stats.Kind
		want      string
	}{
		{stats.CantTell, stats.CantTell, "can't tell yet"},
		{stats.CantTell, stats.Slower, "can't tell yet · CPU time slower"},
		{stats.Slower, stats.CantTell, "slower"},
		{stats.Slower, stats.Slower, "slower"},
		{stats.Slower, stats.Same, "slower · CPU time same"},
	} {
		cell := result.InterimCell{Verdict: judgement(c.wall, 1, -1, 3), Open: c.wall == stats.CantTell}
		cell.Verdicts = map[string]stats.Verdict{"cpu_seconds": judgement(c.cpu, 1, -1, 3)}
		assert.Equal(t, c.want, scoreVerdicts(cell, figures, Options{}))
	}
}

// A terminal that becomes narrower, and wraps what it shows, has nothing left of the table that was drawn before.
func TestScoreboardSurvivesAShrinkingWindow(t *testing.T) {
	for _, widths := range [][]int{{80, 40}, {80, 30, 100, 50}, {120, 37, 36}} {
		synctest.Test(t, func(t *testing.T) {
			v := newVT(t, widths[0], 40)
			board := &Scoreboard{W: v, Opts: Options{Terminal: true, Size: func() (int, int, error) { return v.width, 40, nil }}}
			for _, width := range widths {
				v.resize(width)
				board.Draw(interim(4))
				assert.Equal(t, 1, strings.Count(v.shown(), "12 rounds"), "%v: %q", widths, v.lines)
				time.Sleep(drawEvery)
			}
			board.Erase()
			assert.Empty(t, v.shown())
			assert.Zero(t, v.row)
		})
	}
}

// However many frames are drawn, a terminal scrolls once at most: when the table first needs more lines than there are below the
// cursor. Nothing of the table is left at its end.
func TestScoreboardLeavesNothingInTheScrollBack(t *testing.T) {
	for _, cells := range []int{1, 5, 22, 60} {
		synctest.Test(t, func(t *testing.T) {
			v := newVT(t, 80, 24)
			fmt.Fprint(v, strings.Repeat("before\r\n", 15))
			board := &Scoreboard{W: v, Opts: Options{Terminal: true, Width: 80, Height: 24}}
			for i := range 20 {
				now := interim(cells)
				if i%7 == 3 { // fewer cells are known
					now.Cells = now.Cells[:1]
				}
				board.Draw(now)
				time.Sleep(drawEvery)
			}
			board.Erase()
			assert.Equal(t, max(0, 15+min(2+cells, 24)-24), v.scrolls)
			assert.Equal(t, strings.TrimSuffix(strings.Repeat("before\n", 15-v.scrolls), "\n"), v.shown(), "nothing of the table is left")
		})
	}
}
