// Package render shows a result.Run: as a table for people, and as JSON, CSV, Markdown and Go benchmark lines for programs. Every
// format is a pure function of the run and of term.Options, one file a format. What a page of text is made of is in
// render/term, what the views of experiments share in render/view, and drawings in render/chart.
package render

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"gorun/internal/base/catalog"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
)

// Format is one way to write a run. To add one, write its method in its own file and its row in Formats.
type Format struct {
	Name  string // as --format takes it
	Usage string // one line for help and completion
	Write func(w io.Writer, run *result.Run, opts term.Options) error
}

// Entry implements catalog.Entry.
func (f Format) Entry() (name, usage string) { return f.Name, f.Usage }

// Formats lists every format, the default first. Help, validation and completion are made from it.
func (v Views) Formats() []Format {
	return []Format{
		{"table", "for people: what ran, how it went, and what limited it", v.Table},
		{"json", "the whole run, indented, in the schema " + result.Schema, JSON},
		{"csv", "one row a sample, in seconds and at full precision", v.CSV},
		{"markdown", "the answer and the cells, for a pull request or a job's summary", v.Markdown},
		{"benchfmt", "Go benchmark lines, one a sample, as benchstat reads them", v.Benchfmt},
	}
}

// ErrFormat is wrapped by Lookup's error: the user asked for a format that does not exist.
var ErrFormat = errors.New("unknown format")

// Lookup finds a format by its name. Its error wraps ErrFormat and lists the names.
func (v Views) Lookup(name string) (Format, error) {
	for _, format := range v.Formats() {
		if format.Name == name {
			return format, nil
		}
	}
	return Format{}, fmt.Errorf("%w %q: there are %s", ErrFormat, name, strings.Join(Names(), ", "))
}

// Names lists the formats' names in the order of Formats.
func Names() []string {
	return catalog.Names(Views(nil).Formats())
}
