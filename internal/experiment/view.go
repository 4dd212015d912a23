package experiment

import (
	"iter"

	"gorun/internal/column"
	"gorun/internal/render/chart"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
)

// View is how runs of an experiment are shown. What is shown of every run alike is in package render.
type View struct {
	Title    func(run *result.Run, spec view.Spec) (title string, parts []string) // of the table's heading
	Blocks   func(*result.Run, view.Spec, term.Options) []string                  // up to the samples' quality
	Options  []string                                                             // that come first in a plan
	Plan     func(plan *result.Plan, spec view.Spec) string                       // a plan's block below the options
	Compared view.Compared
	Drawings []Drawing // of a report

	// OwnCells reports whether the cells of a run are rows of its experiment's own table, and not of a matrix's. nil: they
	// never are.
	OwnCells func(run *result.Run) bool
	// Parts are those of a sample, each of which has a row in CSV and a line in benchfmt. nil: it is one.
	Parts *Parts
	// Placed returns what the cells of a matrix place, where it is the user's own. nil: it is not.
	Placed func(run *result.Run) string
	// Ranking returns the block of a matrix below its cells. nil: there is none.
	Ranking func(run *result.Run, opts term.Options) string
	// Unsupported returns the name of each row that the run could not measure, and why. nil: there are none.
	Unsupported func(run *result.Run) iter.Seq2[string, string]
	Found       string // what its findings are about; "": what limited the run
}

// Parts are samples for the parts of a sample, and the columns of these.
type Parts struct {
	Of      func(sample result.Sample) []result.Sample
	Columns column.List
}

// Other is how runs are shown that are not called as their experiment is.
type Other struct {
	View    View
	Columns column.List
}

// Drawing is a figure of a report.
type Drawing struct {
	Anchor string // by which a link finds it
	// Draw returns false for a run that it does not apply to.
	Draw func(run *result.Run) (chart.Figure, bool)
}
