package experiment

import (
	"io"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/chart"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
)

// View defines how runs of an experiment are shown, where that does not follow from its columns. The zero View suffices.
type View struct {
	// Answer says what a run found: the answer first, then what supports it. nil: as view.Shape.Answer says it.
	Answer func(run *result.Run, spec view.Options) []view.Statement
	// Tables returns the tables of a run. nil: those of the shape that follows from the columns.
	Tables func(run *result.Run, shape view.Shape) []table.Table
	// Drawn is shown above the tables of a terminal: a map, or the layout of a reference. nil: nothing is.
	Drawn    func(run *result.Run, spec view.Options, opts term.Options) string
	Rows     []string // columns that tell samples apart in a run without cells
	Options  []string // options that are shown with a result, and first in a plan
	Plan     func(plan *result.Plan) []table.Table
	Own      bool      // its matrix is a command of its own, as gorun bench, and not one of gorun matrix
	Drawings []Drawing // of a report

	// Parts defines the parts of a sample, each of which has a row in CSV and a line in benchfmt. nil: a sample is one
	// part.
	Parts *Parts
	// Line returns a sample's whole benchmark name and what else the configuration lines have, by key;
	// false for a sample that has no line. nil: the name is made of the run's options.
	Line func(run *result.Run, sample *result.Sample) (name string, config [][2]string, ok bool)
	// Placed returns what the cells of a matrix place, if that is the user's own command. nil: it never is.
	Placed func(run *result.Run) string
	// Recommended returns the cell whose setting a run recommends, nil if none is shown to be better, and says so. nil: runs
	// recommend none, and there is no --apply.
	Recommended func(run *result.Run) (use *result.Cell, words string)
	// Derived returns all findings of a run and warnings that follow from its samples alone. A journal does not keep them: they
	// are derived again where a run is shown. nil: there are none.
	Derived func(run *result.Run) ([]result.Finding, []result.Warning)
	Found   string // the subject of its findings; "": what limited the run
}

// Parts splits a sample into a sample for each part, with their columns.
type Parts struct {
	Of      func(sample result.Sample) []result.Sample
	Columns column.List
}

// Picture has the texts of --svg, which writes the first of the View's drawings that applies to a run.
type Picture struct {
	Usage string
	None  error // no drawing applies
}

// Draw writes the picture of a run as a self-contained SVG file.
func (x Definition[C]) Draw(w io.Writer, run *result.Run) error {
	var drawings []func(*result.Run) (chart.Drawing, bool)
	for _, d := range x.View.Drawings {
		drawings = append(drawings, d.Draw)
	}
	return chart.Write(w, run, x.Picture.None, drawings...)
}

// Drawing is a figure of a report.
type Drawing struct {
	Anchor string // the anchor for links
	// Draw returns false for a run that it does not apply to.
	Draw func(run *result.Run) (chart.Drawing, bool)
}

// Resumes reports whether the command of a run has --resume. That of a plain run has not: the experiments that have plain runs define
// how many samples they take.
func (x Definition[C]) Resumes(run *result.Run) bool {
	return run.OfMatrix() || x.Sampling.Samples == 0
}

// Shape says what the tables of a run have, where the experiment has none of its own; with verbose also what a reader needs only to
// look deeper.
func (x Definition[C]) Shape(verbose bool) view.Shape {
	shape := view.Shape{Columns: x.Columns, Verbose: verbose}
	shape.Compared, _ = x.Columns.Find(x.Compared)
	if x.View != nil {
		shape.Rows = x.View.Rows
	}
	return shape
}

// Tables returns the tables of a run.
func (x Definition[C]) Tables(run *result.Run, verbose bool) []table.Table {
	if x.View == nil || x.View.Tables == nil {
		return x.Shape(verbose).In(run.Units).Tables(run)
	}
	return x.View.Tables(run, x.Shape(verbose).In(run.Units))
}
