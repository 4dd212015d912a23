package matrix

import (
	"fmt"

	"gorun/internal/result"
	"gorun/internal/units"
)

const (
	// GivenUpAfter is how many samples of a cell in a row are invalid when it is sampled no more.
	GivenUpAfter = 3
	// A comparison in which at least fewInvalid samples of one of its cells, and more than lostShare of them, are invalid
	// is not judged: they may be invalid because they were slow, and the others would then look too fast.
	fewInvalid = 3
	lostShare  = 0.02
)

// Faults counts the invalid samples of each cell, so that one costs no more than itself and a cell that cannot be
// measured is given up. The zero value has seen no sample.
type Faults struct {
	cells map[int]fault
}

type fault struct {
	taken   int
	invalid int
	row     int    // of the latest samples that are invalid, one after another
	reason  string // of the latest
	left    bool   // it was given up, even if a sample of the same round was good
}

// faultsOf counts the samples of a run that has cells by which a figure cannot be judged.
func faultsOf(run *result.Run, figure Figure) (f Faults) {
	for _, s := range run.Samples {
		if s.Slot != nil {
			f.Add(s.Cell, figure.seen(s))
		}
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
	if s.Quality.Verdict == result.Invalid {
		c.invalid, c.row, c.reason = c.invalid+1, c.row+1, reason(s)
	} else {
		c.row = 0
	}
	c.left = c.left || c.row == GivenUpAfter
	f.cells[cell] = c
}

// GivenUp reports whether a cell is sampled no more.
func (f *Faults) GivenUp(cell int) bool { return f.cells[cell].left }

// Left returns how many of the cells 0 … n−1 have not been given up.
func (f *Faults) Left(n int) int {
	left := 0
	for cell := range n {
		if !f.GivenUp(cell) {
			left++
		}
	}
	return left
}

// Warnings names the cells that were given up, by the names of all.
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

// none reports whether a cell was sampled and has no sample that counts.
func (f *Faults) none(cell int) bool {
	return f.cells[cell].taken > 0 && f.cells[cell].taken == f.cells[cell].invalid
}

// spoil returns why too many samples of a cell are invalid to judge by the others; "" where they are not.
func (f *Faults) spoil(cell int, name string) string {
	c := f.cells[cell]
	if c.invalid < fewInvalid || float64(c.invalid) <= lostShare*float64(c.taken) {
		return ""
	}
	return fmt.Sprintf("%d of %s of %s are invalid: %s", c.invalid, units.Things(c.taken, "sample"), name, c.reason)
}

// reason is why a sample is invalid.
func reason(s result.Sample) string {
	if len(s.Quality.Reasons) == 0 {
		return "no reason recorded"
	}
	return s.Quality.Reasons[0]
}
