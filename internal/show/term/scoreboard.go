package term

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"gorun/internal/base/units"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/stats"
)

// Scoreboard is the table on a terminal that tells how far a matrix is. It is drawn between samples, by the goroutine
// that takes them: while a sample runs, nothing is written. Without a terminal nothing ever is.
type Scoreboard struct {
	W    io.Writer
	Opts Options

	drawn drawn
	last  time.Time
}

// Draw puts an interim state in the place of the one before, at most four times a second: one that comes sooner is left out.
func (s *Scoreboard) Draw(interim result.Interim) {
	if !s.Opts.Terminal || !s.last.IsZero() && time.Since(s.last) < drawEvery {
		return
	}
	s.last = time.Now()
	opts := s.Opts.now()
	s.drawn.draw(s.W, opts, scoreLines(Clean(interim), opts)...)
}

// Erase takes the table away, so that what is printed next stands on a clean line.
func (s *Scoreboard) Erase() { s.drawn.erase(s.W, s.Opts) }

// drawn is what progress has drawn last.
type drawn struct {
	widths []int // of its lines
	gone   bool  // the terminal cannot be written any more
}

// draw draws lines over those that are drawn now. Each line is cleared by itself (ECMA-48 EL): a terminal that is asked
// to clear to the end of the screen may move what it shows into its scroll-back, a copy for each frame. Terminals wrap the lines that
// they show when they become narrower.
func (d *drawn) draw(w io.Writer, opts Options, lines ...string) {
	if d.gone {
		return
	}
	const clearRest = "\x1b[K" // of the line
	rows := 0
	for _, width := range d.widths {
		rows += max(1, (width+opts.Columns()-1)/opts.Columns())
	}
	d.widths = d.widths[:0]
	all := "\r" + up(rows-1)
	for i, line := range lines {
		// A full last column would make some terminals wrap, and the next erasing would miss a line.
		line = text.Trim(line, opts.Columns()-1)
		d.widths = append(d.widths, Width(line))
		if i > 0 {
			all += "\r\n"
		}
		all += line + clearRest
	}
	for range rows - len(lines) {
		all += "\r\n" + clearRest
	}
	_, err := io.WriteString(w, all+up(rows-len(lines)))
	d.gone = err != nil
}

// erase clears what is drawn.
func (d *drawn) erase(w io.Writer, opts Options) {
	if len(d.widths) > 0 {
		d.draw(w, opts.now(), "")
		d.widths = nil
	}
}

// up moves the cursor up (ECMA-48 CUU).
func up(lines int) string {
	if lines < 1 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA", lines)
}

// scoreLines are a head line and a row a cell, as many as the terminal has lines. Where there are more cells, the
// baseline and those that are still sampled come first.
func scoreLines(interim result.Interim, opts Options) []string {
	lines := []string{scoreHead(interim, opts)}
	room := opts.lines() - 2 // for rows, under the head and the columns' titles
	if room < 1 || len(interim.Cells) == 0 {
		return lines
	}
	cells := slices.Clone(interim.Cells)
	if len(cells) <= room {
		return append(lines, scoreRows(interim, cells, opts)...)
	}
	rank := func(cell result.InterimCell) int {
		switch {
		case cell.Baseline:
			return 0
		case cell.Open:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(cells, func(a, b result.InterimCell) int { return rank(a) - rank(b) })
	lines = append(lines, scoreRows(interim, cells[:room-1], opts)...)
	return append(lines, fmt.Sprintf("  … and %d more", len(cells)-room+1))
}

// scoreHead tells how far the run is, with what matters most first: a narrow terminal cuts its end. The name of the cell that runs is
// shortened before that.
func scoreHead(interim result.Interim, opts Options) string {
	rounds := units.Things(interim.Rounds, "round")
	if interim.Planned > 0 {
		rounds = fmt.Sprintf("%d of %s", interim.Rounds, units.Things(interim.Planned, "round"))
	}
	parts := []string{rounds, clock(interim.Elapsed)}
	if decided(interim) {
		parts = append(parts, "decided; narrowing: Ctrl-C keeps the result")
	}
	if interim.Left >= 0 {
		parts = append(parts, "at most "+clock(interim.Left)+" left")
	}
	running := len(parts)
	if interim.Running != "" {
		parts = append(parts, "runs ")
	}
	if interim.Control.Kind != "" {
		parts = append(parts, "control "+scoreControl(interim.Control))
	}
	return fitted(append(parts, units.Things(interim.Samples, "sample")), running, interim.Running, opts)
}

// decided reports whether each cell has a claim, and more samples only make intervals narrower.
func decided(interim result.Interim) (narrows bool) {
	for _, cell := range interim.Cells {
		switch cell.Verdict.Kind {
		case stats.Slower, stats.Faster, stats.Same, stats.Mixed, stats.Scales, stats.Stops:
			narrows = narrows || cell.Open && !cell.Baseline
		case stats.Invalid: // it is given up
		default:
			if !cell.Baseline {
				return false
			}
		}
	}
	return narrows
}

// yet is what an undecided cell is called that is still sampled.
const yet = string(stats.CantTell) + " yet"

func scoreControl(v stats.Verdict) string {
	if v.Kind == stats.CantTell {
		return cmp.Or(soFar(v), yet)
	}
	return string(v.Kind)
}

// clock shows a time that goes on, in whole seconds.
func clock(seconds float64) string {
	return (time.Duration(min(max(seconds, 0), math.MaxInt32)) * time.Second).String()
}

// soFar is the interval that holds a cell's difference, in per cent: what a run that ended now would be unable to tell
// more of.
func soFar(v stats.Verdict) string {
	if v.Rounds == 0 || v.Typical.Lo == 0 || v.Typical.Hi == math.MaxFloat64 {
		return ""
	}
	open := stats.Verdict{Typical: v.Typical, Margin: v.Margin, Step: v.Step, Rate: v.Rate, Amount: v.Amount}
	return open.Why()
}

// scoreRows are the titles and the rows of some cells. Names are shortened where the rest would not fit.
func scoreRows(interim result.Interim, cells []result.InterimCell, opts Options) []string {
	t := table.Table{}
	t.Add("cell", cmp.Or(interim.Label, "time"), "difference", "verdict")
	names := make([]string, len(cells))
	for i, cell := range cells {
		var figure table.Value
		switch v := interim.Control; {
		case cell.Seconds <= 0:
		case cell.By != nil && cell.By.Better == result.Higher:
			figure = table.Number{X: 1 / cell.Seconds, Unit: column.Printed(cell.By.Label)}
		case cell.By != nil:
			figure = table.Number{X: cell.Seconds, Unit: column.Printed(cell.By.Label)}
		case v.Rate:
			figure = table.Number{X: 1 / cell.Seconds, Unit: column.Large}
		case v.Amount:
			figure = table.Number{X: cell.Seconds, Unit: column.Large}
		default:
			figure = table.Seconds(cell.Seconds)
		}
		names[i] = cell.Name
		t.AddRow(
			table.Text(""), figure, table.Text(soFar(cell.Verdict)), table.Text(scoreVerdicts(cell, interim.Figures, opts)),
		)
	}
	sheet := t.Sheet()
	for i, name := range Apart(names, max(8, opts.Columns()-1-width(sheet)+len("cell"))) {
		sheet.Rows[i][0].Text = name
	}
	return strings.Split(strings.TrimSuffix(grid(sheet), "\n"), "\n")
}

// scoreVerdicts returns the verdict on the figure that decides when the run stops, and each decided verdict on another
// figure that differs from it.
func scoreVerdicts(cell result.InterimCell, figures []result.JudgedFigure, opts Options) string {
	painted := func(v stats.Verdict) string { return opts.Paint(KindColour(v.Kind), v.Word()) }
	words := painted(cell.Verdict)
	switch {
	case cell.Baseline:
		words = "baseline"
	case cell.Open && (cell.Verdict.Kind == stats.CantTell || cell.Verdict.Kind == ""):
		words = yet
	}
	for _, figure := range figures {
		v, judged := cell.Verdicts[figure.Column]
		if judged && !figure.Second && v.Kind != stats.CantTell && v.Kind != cell.Verdict.Kind {
			words += " · " + figure.Label + " " + painted(v)
		}
	}
	return words
}
