package document

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"

	"gorun/internal/base/hint"
	"gorun/internal/base/shell"
	"gorun/internal/publish/metrics"
	"gorun/internal/publish/page"
	"gorun/internal/show/term"
)

// format is a way to show documents.
type format struct {
	name  string // as --format takes it
	has   func(d Document) bool
	write func(w io.Writer, d Document, opts term.Options) error
	raw   bool // it escapes the texts of a document itself
}

// formats are all formats, the default first. Help, validation and completion are made from this list.
var formats = []format{
	of("table", func(w io.Writer, d Document, opts term.Options) error {
		return writeText(w, d.Page(opts.Verbose).Text(opts))
	}),
	of("json", writeJSON).escaping(), // in the schema result.Schema
	of("csv", writeCSV),
	of("markdown", func(w io.Writer, d Summarised, _ term.Options) error { return writeText(w, d.Brief().Markdown()) }), // of GitHub
	of("benchfmt", func(w io.Writer, d Benchmarked, _ term.Options) error { // as benchstat reads it
		return d.Benchmarks(benchfmt.NewWriter(w))
	}).escaping(),
	of("html", func(w io.Writer, d Drawn, _ term.Options) error {
		return page.Write(w, d.Question(), d.Page(false), d.Drawings())
	}),
	of("prometheus", func(w io.Writer, d Metered, _ term.Options) error { // for node_exporter's textfile collector
		return metrics.WriteGauges(w, d.Gauges())
	}),
	of("slurm", drainBy(func(d Drain) string {
		return shell.Join([]string{"scontrol", "update", "nodename=" + d.Node, "state=drain", "reason=" + d.Reason})
	})),
	of("kubernetes", drainBy(func(d Drain) string {
		return shell.Join([]string{"kubectl", "cordon", "--", d.Node}) + " # " + d.Reason
	})),
}

// of returns a format that a document has if it is a D.
func of[D Document](name string, write func(w io.Writer, d D, opts term.Options) error) format {
	return format{
		name: name,
		has: func(d Document) bool {
			_, is := d.(D)
			return is
		},
		write: func(w io.Writer, d Document, opts term.Options) error { return write(w, d.(D), opts) },
	}
}

// escaping returns the format as one that escapes the texts of a document itself.
func (f format) escaping() format {
	f.raw = true
	return f
}

// Formats are the formats of a kind of document, the default first.
type Formats []format

// For returns the formats of the documents of a type.
func For[D Document]() Formats {
	var none D
	return formatsOf(none)
}

func formatsOf(d Document) Formats {
	return slices.DeleteFunc(slices.Clone(formats), func(f format) bool { return !f.has(d) })
}

// Names returns the names of the formats.
func (f Formats) Names() (names []string) {
	for _, format := range f {
		names = append(names, format.name)
	}
	return names
}

// Check returns an error about the flag --format, which lists the names, if none of the formats has this name.
func (f Formats) Check(name string) error {
	if names := f.Names(); !slices.Contains(names, name) {
		err := hint.With(fmt.Errorf("unknown format: there are %s", strings.Join(names, ", ")), hint.Near(name, names))
		return hint.Flag("format", name, err)
	}
	return nil
}

// Show shows a document in the format with this name.
func Show(w io.Writer, d Document, name string, opts term.Options) error {
	own := formatsOf(d)
	if err := own.Check(name); err != nil {
		return err
	}
	f := own[slices.Index(own.Names(), name)]
	if !f.raw {
		d = term.Clean(d)
	}
	return f.write(w, d, opts)
}

func writeText(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// drainBy returns a format that has a line for each node that should be taken out of service, by which an administrator does so. gorun runs
// none.
func drainBy(line func(Drain) string) func(io.Writer, Draining, term.Options) error {
	return func(w io.Writer, d Draining, _ term.Options) error {
		var lines strings.Builder
		nodes, comments := d.Drains()
		for _, node := range nodes {
			lines.WriteString(line(node) + "\n")
		}
		if len(nodes)+len(comments) == 0 {
			comments = []string{"no node is named"}
		}
		for _, warning := range d.Page(false).Warnings {
			comments = append(comments, "warning: "+warning.Message)
		}
		for _, comment := range comments {
			lines.WriteString("# " + comment + "\n")
		}
		return writeText(w, lines.String())
	}
}
