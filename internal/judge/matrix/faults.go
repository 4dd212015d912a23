package matrix

import (
	"cmp"
	"fmt"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

const (
	// GivenUpAfter is the number of consecutive invalid samples after which a cell is no longer sampled.
	GivenUpAfter = 3
	// A comparison in which at least fewInvalid samples of one of its cells, and more than lostShare of them, are
	// invalid is not judged: if they are invalid because they were slow, the others look too fast.
	fewInvalid = 3
	lostShare  = 0.02
)

// Faults counts the invalid samples of each cell, so that a cell that cannot be measured is given up. The zero value is
// ready for use.
type Faults struct {
	cells   map[int]fault
	givenUp int // number of cells
}

type fault struct {
	taken   int
	invalid int
	row     int    // consecutive invalid samples, up to the latest
	reason  string // of the latest invalid sample
	left    bool   // given up, even if another sample of the same round was valid
}

// faultsOf counts the samples of a run by which a figure cannot be judged.
func faultsOf(run *result.Run, figure Comparand) (f Faults) {
	for _, s := range run.Samples.Each() {
		f.Add(s.Cell, *figure.judgedBy(s))
	}
	return f
}

// Add counts a sample of a cell.
func (f *Faults) Add(cell int, s result.Sample) {
	if f.cells == nil {
		f.cells = map[int]fault{}
	}
	c := f.cells[cell]
	c.taken++
	if s.Quality.Grade == result.Invalid {
		c.invalid, c.row, c.reason = c.invalid+1, c.row+1, s.Quality.Reasons[0]
	} else {
		c.row = 0
	}
	if c.row == GivenUpAfter && !c.left {
		c.left, f.givenUp = true, f.givenUp+1
	}
	f.cells[cell] = c
}

// GivenUp reports whether a cell is no longer sampled.
func (f *Faults) GivenUp(cell int) bool { return f.cells[cell].left }

// Left returns how many of n cells have not been given up.
func (f *Faults) Left(n int) int { return n - f.givenUp }

// Warnings returns a warning for each cell that was given up; names are those of all cells.
func (f *Faults) Warnings(names []string) []result.Warning {
	var warnings []result.Warning
	for cell, name := range names {
		if !f.GivenUp(cell) {
			continue
		}
		what := "cell " + name
		if name == "" {
			what = "sampling"
		}
		warnings = append(warnings, result.Warning{
			Code: "given-up",
			Message: fmt.Sprintf("%s was given up after %d invalid samples in a row: %s", what, GivenUpAfter,
				f.cells[cell].reason),
		})
	}
	return warnings
}

// none reports whether a cell was sampled but has no valid sample.
func (f *Faults) none(cell int) bool {
	return f.cells[cell].taken > 0 && f.cells[cell].taken == f.cells[cell].invalid
}

// correct returns the verdict on a cell against another, of this name, and whether enough of their samples are valid for it.
func (f *Faults) correct(v stats.Verdict, cell, against int, name string) (corrected stats.Verdict, sound bool) {
	if f.none(cell) {
		return stats.InvalidVerdict(f.cells[cell].reason), false
	}
	if spoilt := cmp.Or(f.spoil(cell, "the cell"), f.spoil(against, name)); spoilt != "" {
		return v.Unjudged(spoilt), false
	}
	return v, true
}

// spoil returns the reason not to judge a cell with too many invalid samples; "" if there are not too many.
func (f *Faults) spoil(cell int, name string) string {
	c := f.cells[cell]
	if c.invalid < fewInvalid || float64(c.invalid) <= lostShare*float64(c.taken) {
		return ""
	}
	return fmt.Sprintf("%d of %s of %s are invalid: %s", c.invalid, units.Things(c.taken, "sample"), name, c.reason)
}
