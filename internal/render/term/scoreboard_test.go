package term

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/result"
	"gorun/internal/stats"
)

// judgement is a verdict on a difference of so many per cent, and its interval.
func judgement(kind stats.Kind, ratio, lo, hi float64, rounds int) *stats.Verdict {
	return &stats.Verdict{
		Kind: kind, Typical: stats.Effect{Ratio: 1 + ratio/100, Lo: 1 + lo/100, Hi: 1 + hi/100},
		Rounds: rounds, Margin: 0.02, Step: 0.001,
	}
}

// standing is a matrix of which every third cell is decided.
func standing(cells int) result.Standing {
	s := result.Standing{
		Running: "workers=2", Samples: 120, Rounds: 12, Elapsed: 61.4, Left: 83,
		Control: *judgement(stats.CantTell, 0, -1.2, 3.4, 12),
	}
	for i := range cells {
		cell := result.StandingCell{
			Name: fmt.Sprintf("workers=%d", i), Seconds: 0.161 + 0.01*float64(i), Open: true,
			Baseline: i == 1, Verdict: *judgement(stats.CantTell, 1, -1.2, 3.4, 12),
		}
		if i%3 == 2 {
			cell.Open, cell.Verdict = false, *judgement(stats.Slower, 12, 11, 13, 12)
		}
		s.Cells = append(s.Cells, cell)
	}
	return s
}

func TestScoreboardIsRedrawnInItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &screen{}
		board := &Scoreboard{W: out, Opts: terminal}
		board.Erase() // nothing yet
		now := standing(4)
		now.Cells[3] = result.StandingCell{Name: "new", Open: true}
		board.Draw(now)
		board.Draw(now) // too soon
		time.Sleep(drawEvery)
		now.Cells, now.Running, now.Left, now.Planned, now.Control.Kind = now.Cells[:2], "", -1, 25, stats.Same
		board.Draw(now)
		board.Erase()
		board.Erase() // nothing more
		assert.Equal(t, []string{
			"\r" + strings.Join([]string{
				"12 rounds · 1m1s · at most 1m23s left · runs workers=2 · control −1.2% to +3.4% · 120 samples",
				"  cell          time  difference      verdict",
				"  workers=0  0.161 s  −1.2% to +3.4%  open",
				"  workers=1  0.171 s  −1.2% to +3.4%  baseline",
				"  workers=2  0.181 s  +11% to +13%    slower",
				"  new              -                  open\x1b[K",
			}, "\x1b[K\r\n"),
			"\r\x1b[5A" + strings.Join([]string{
				"12 of 25 rounds · 1m1s · control same · 120 samples",
				"  cell          time  difference      verdict",
				"  workers=0  0.161 s  −1.2% to +3.4%  open",
				"  workers=1  0.171 s  −1.2% to +3.4%  baseline",
				"",
				"\x1b[K\x1b[2A",
			}, "\x1b[K\r\n"),
			"\r\x1b[3A\x1b[K\r\n\x1b[K\r\n\x1b[K\r\n\x1b[K\x1b[3A",
		}, out.seen())

		time.Sleep(drawEvery)
		board.Draw(now)
		assert.True(t, strings.HasPrefix(out.seen()[3], "\r12 of"), "what was printed in between is kept")
	})
}

// The median and the difference of a rate are those of the rate, not of the time that it stands for.
func TestScoreboardOfARate(t *testing.T) {
	now := standing(2)
	now.Label, now.Control.Rate = "requests", true
	for i := range now.Cells {
		now.Cells[i].Seconds, now.Cells[i].Verdict.Rate = 1/60210.0, true
	}
	assert.Equal(t, []string{
		"12 rounds · 1m1s · at most 1m23s left · runs workers=2 · control −3.3% to +1.3% · 120 samples",
		"  cell       requests  difference      verdict",
		"  workers=0    60.2 k  −3.3% to +1.3%  open",
		"  workers=1    60.2 k  −3.3% to +1.3%  baseline",
	}, scoreLines(now, terminal))
}

func TestScoreboardEndsWithItsTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		board := &Scoreboard{W: hungUp{}, Opts: terminal}
		board.Draw(standing(4))
		out := &screen{}
		board.W = out
		time.Sleep(time.Second)
		board.Draw(standing(4))
		board.Erase()
		assert.Empty(t, out.seen())
	})
}

// A line too many or too long would scroll, and what is drawn next would stand in the wrong place.
func TestScoreboardFitsItsTerminal(t *testing.T) {
	ends := []string{"open", "baseline", "slower"}
	rapid.Check(t, func(t *rapid.T) {
		opts := Options{
			Terminal: true, Colour: rapid.Bool().Draw(t, "colour"),
			Width: rapid.IntRange(2, 130).Draw(t, "width"), Height: rapid.IntRange(1, 40).Draw(t, "height"),
		}
		now := standing(rapid.IntRange(0, 60).Draw(t, "cells"))
		if rapid.Bool().Draw(t, "long") {
			now.Cells = append(now.Cells, result.StandingCell{Name: strings.Repeat("界", 80), Open: true})
		}
		out := &screen{}
		board := &Scoreboard{W: out, Opts: opts}
		board.Draw(now)
		page := strings.ReplaceAll(strings.TrimPrefix(out.seen()[0], "\r"), clearRest, "")
		lines := strings.Split(page, "\r\n")
		require.LessOrEqual(t, len(lines), opts.Height)
		for _, line := range lines {
			require.Less(t, text.StringWidthWithoutEscSequences(line), opts.Width, "%q", line)
		}
		require.Equal(t, strings.Count(page, "\x1b[3"), strings.Count(page, "\x1b[0m"), "colours end in their lines")
		shown := 0
		for _, line := range lines[1:] {
			if strings.Contains(line, "workers=") || strings.Contains(line, "界") {
				shown++
				verdict := strings.Fields(text.StripEscape(line))
				require.True(t, opts.Width < 60 || slices.Contains(ends, verdict[len(verdict)-1]), "%q", line)
			}
		}
		if opts.Width > 60 && opts.Height > 2 && shown < len(now.Cells) {
			require.Equal(t, fmt.Sprintf("  … and %d more", len(now.Cells)-shown), lines[len(lines)-1])
			require.Len(t, lines, opts.Height, "no line is left unused")
		}
	})
}

func TestScoreboardShowsOpenCellsFirst(t *testing.T) {
	lines := scoreLines(standing(12), Options{Height: 8})
	assert.Contains(t, lines[2], "workers=1 ", "the baseline")
	for i, name := range []string{"0", "3", "4", "6"} {
		assert.Contains(t, lines[3+i], "workers="+name+" ")
	}
	assert.Equal(t, "  … and 7 more", lines[7])
	assert.Len(t, scoreLines(standing(12), Options{Height: 14}), 14, "all have room")
}

// A decided verdict on another figure stands beside the one that it disagrees with.
func TestScoreboardShowsFiguresThatDisagree(t *testing.T) {
	open, slower, same := judgement(stats.CantTell, 1, -1, 3, 12), judgement(stats.Slower, 12, 11, 13, 12),
		judgement(stats.Same, 0, -1, 1, 12)
	figures := []result.Figure{{Column: "cpu_seconds", Label: "CPU time"}}
	for _, c := range []struct {
		name    string
		wall    *stats.Verdict
		cpu     *stats.Verdict
		sampled bool
		want    string
	}{
		{"both open", open, open, true, "open"},
		{"CPU time first", open, slower, true, "open · CPU time slower"},
		{"wall time first", slower, open, false, "slower"},
		{"both slower", slower, slower, false, "slower"},
		{"waits for a CPU", slower, same, false, "slower · CPU time same"},
		{"not judged", slower, nil, false, "slower"},
	} {
		cell := result.StandingCell{Verdict: *c.wall, Open: c.sampled}
		if c.cpu != nil {
			cell.Verdicts = map[string]stats.Verdict{"cpu_seconds": *c.cpu}
		}
		lines := scoreLines(result.Standing{Figures: figures, Cells: []result.StandingCell{cell}}, Options{})
		assert.True(t, strings.HasSuffix(lines[2], "  "+c.want), "%s: %q", c.name, lines[2])
	}
}
