// Package report shows runs as one self-contained HTML file, which needs no network and no other file.
package report

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"gorun/internal/base/shell"
	"gorun/internal/publish/page"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
)

// Options select the kind of page.
type Options struct {
	Views   render.Views
	Version string // of a page that is served and refreshes itself; "": a file
	Host    bool   // show what identifies the machine: its host name, the boot and the kernel's command line
}

// Write writes the report of some runs. Their contents are not trusted: the template escapes them, and the page may
// neither load nor send anything (Content Security Policy 3).
func Write(w io.Writer, inputs []Input, o Options) error {
	p := page.New(o.Version)
	clean := make([]Input, len(inputs))
	for i, in := range inputs {
		clean[i] = Input{File: term.Clean(in.File), Run: view.Named(term.Clean(in.Run)), Ended: in.Ended}
		if host := &clean[i].Run.Host; !o.Host {
			host.Hostname, host.BootID, host.CommandLine = "", "", ""
		}
	}
	for i, in := range clean {
		p.Runs = append(p.Runs, sectionOf(fmt.Sprintf("run%d", i+1), in, o.Views, len(clean) > 1))
	}
	var compared []view.Statement
	p.Together, compared = comparisons(clean, o.Views)
	p.Title, p.Answer = headOf(clean, o.Views, compared)
	p.Facts = factsOf(clean)
	return p.Write(w)
}

func sectionOf(anchor string, in Input, views render.Views, several bool) page.Section {
	run := in.Run
	s := page.Section{
		Anchor: anchor, Name: filepath.Base(in.File), Run: true, Open: !in.Ended, Partial: run.Partial,
		Tables:   views.Tables(run, false),
		Findings: views.Findings(run), FindingsTitle: views.FindingsTitle(run), Warnings: result.OneEach(run.Warnings),
		Quality: append(view.Quality(run, true), disturbances(run)), Environment: environment(in), Options: options(run), Commands: commands(run),
	}
	if several {
		s.Answer = views.Answer(run)
	}
	if len(run.Command) > 0 {
		s.Command = shell.Join(append([]string{"gorun"}, run.Command...))
	}
	for _, f := range figuresOf(run, views) {
		figure, ok := f.Draw(run)
		if !ok {
			continue
		}
		figure.Table.Name = cmp.Or(figure.Table.Name, f.Anchor)
		d := page.Drawing{Anchor: anchor + "-" + f.Anchor, Drawing: figure}
		if f.Anchor == ratiosAnchor {
			s.Beside = &d
			continue
		}
		s.Figures = append(s.Figures, d)
	}
	return s
}
