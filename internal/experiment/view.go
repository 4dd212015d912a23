package experiment

import (
	"iter"

	"gorun/internal/column"
	"gorun/internal/render/chart"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
)

// View defines how runs of an experiment are shown. The parts that all runs share are in package render.
type View struct {
	// Answer says what a run found: the answer first, then what supports it. nil: as view.Compared.Answer says it.
	Answer   func(run *result.Run, spec view.Spec) []view.Statement
	Title    func(run *result.Run, spec view.Spec) (title string, parts []string) // of the table's heading
	Blocks   func(*result.Run, view.Spec, term.Options) []string                  // up to the samples' quality
	Options  []string                                                             // the options that come first in a plan
	Plan     func(plan *result.Plan, spec view.Spec) string                       // a plan's block below the options
	Compared view.Compared
	Drawings []Drawing // of a report

	// OwnCells reports whether the cells of a run are rows of its experiment's own table and not of a matrix. nil:
	// never.
	OwnCells func(run *result.Run) bool
	// Parts defines the parts of a sample, each of which has a row in CSV and a line in benchfmt. nil: a sample is one
	// part.
	Parts *Parts
	// Line returns a sample's whole benchmark name and what else the configuration lines have, by key;
	// false for a sample that has no line. nil: the name is made of the run's options.
	Line func(run *result.Run, sample *result.Sample) (name string, config [][2]string, ok bool)
	// Placed returns what the cells of a matrix place, if that is the user's own command. nil: it never is.
	Placed func(run *result.Run) string
	// Below returns the block of a matrix below its cells. nil: there is none.
	Below func(run *result.Run, opts term.Options) string
	// Unsupported returns the name of each row that the run could not measure, and why. nil: there are none.
	Unsupported func(run *result.Run) iter.Seq2[string, string]
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

// Other defines how runs are shown that have another name than their experiment.
type Other struct {
	View    View
	Columns column.List
}

// Drawing is a figure of a report.
type Drawing struct {
	Anchor string // the anchor for links
	// Draw returns false for a run that it does not apply to.
	Draw func(run *result.Run) (chart.Figure, bool)
}
