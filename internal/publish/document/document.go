// Package document shows runs, plans, comparisons, machines, reports of the doctor, visits and judgements: as a table for people, and as
// JSON, CSV, Markdown and others for programs. Each format is one function over documents. A document has the formats whose methods it has.
package document

import (
	"golang.org/x/perf/benchfmt"

	"gorun/internal/publish/metrics"
	"gorun/internal/record/table"
	"gorun/internal/show/chart"
	"gorun/internal/show/view"
)

// Document is what gorun shows. As JSON it is itself.
type Document interface {
	// Page returns what a person reads in a terminal; verbose adds what is needed only to look deeper.
	Page(verbose bool) view.Page
}

// What only some documents have.
type (
	// Summarised documents have a short page, for a pull request or the summary of a job.
	Summarised interface {
		Document
		Brief() view.Page
	}
	// Listed documents have a table for a spreadsheet.
	Listed interface {
		Document
		Spreadsheet() table.Table
	}
	// Benchmarked documents have the lines of Go benchmarks.
	Benchmarked interface {
		Document
		Benchmarks(out *benchfmt.Writer) error
	}
	// Drawn documents have a page for a browser, with the question that they answer as its title.
	Drawn interface {
		Document
		Question() string
		Drawings() []chart.Drawing
	}
	// Metered documents have metrics.
	Metered interface {
		Document
		Gauges() []metrics.Metric
	}
	// Draining documents name nodes that an administrator should take out of service, each with the reason, and say in comments which other
	// nodes they do not name.
	Draining interface {
		Document
		Drains() (nodes []Drain, comments []string)
	}
)

// Drain is a node that should be taken out of service, and why.
type Drain struct{ Node, Reason string }
