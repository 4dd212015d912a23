// Package report shows runs as one self-contained HTML file, which needs no network and no other file.
package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"gorun/internal/base/shell"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
	"gorun/internal/show/chart"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
)

var (
	//go:embed page.html
	pageText string
	//go:embed style.css
	style string
	//go:embed script.js
	script string
)

// pageTemplate is parsed when a page is written, so that other commands start faster.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageText))
})

// Options select the kind of page.
type Options struct {
	Views   render.Views
	Version string // of a page that is served and refreshes itself; "": a file
	Host    bool   // show what identifies the machine: its host name, the boot and the kernel's command line
}

// page is the data of the template.
type page struct {
	Title         string // the question
	Answer        []view.Statement
	Facts         []fact
	Version       string
	Refresh       int // seconds between two looks for a newer version
	Policy        string
	Style, Script template.HTML
	Together      []sheet
	Runs          []section
}

// section is one run of the page.
type section struct {
	Anchor, Name  string
	Run           bool             // it has what only runs have
	Answer        []view.Statement // where it is not in the page's head
	Open          bool             // in progress, or killed
	Partial       bool
	Tables        []sheet
	Findings      []result.Finding
	FindingsTitle string
	Warnings      []result.Warning
	Beside        *drawing // of the verdicts, next to their table
	Figures       []drawing
	Quality       []sheet
	Environment   sheet
	Options       sheet
	Command       string
	Commands      sheet
}

// drawing is a figure of a section.
type drawing struct {
	Anchor, Title, Description string
	SVG                        template.HTML
	Table                      sheet
}

// refresh is the interval at which a served page checks for a newer version. Making the page takes CPU time from the
// measured run.
const refresh = 5

// Write writes the report of some runs. Their contents are not trusted: the template escapes them, and the page may
// neither load nor send anything (Content Security Policy 3).
func Write(w io.Writer, inputs []Input, o Options) error {
	p := newPage(o.Version)
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
	return p.write(w)
}

// newPage returns a page without contents; version is that of a page that refreshes itself.
func newPage(version string) page {
	return page{
		Version: version, Refresh: refresh, Policy: policy(version != ""),
		Style:  template.HTML("<style>\n" + style + "</style>"),
		Script: template.HTML("<script>" + script + "</script>"),
	}
}

func (p page) write(w io.Writer) error {
	if err := pageTemplate().Execute(w, p); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

// WriteDocument writes a page about something that is no run.
func WriteDocument(w io.Writer, title string, d view.Document, drawings []chart.Drawing) error {
	d = term.Clean(d)
	p := newPage("")
	p.Title, p.Answer = title, d.Answer
	s := section{Anchor: "found", Tables: sheets(d.Tables...)}
	for _, warning := range d.Warnings {
		s.Warnings = append(s.Warnings, result.Warning{Message: warning})
	}
	for i, drawn := range drawings {
		s.Figures = append(s.Figures, drawingOf(fmt.Sprintf("drawing%d", i+1), drawn))
	}
	p.Runs = []section{s}
	return p.write(w)
}

// policy lets the page run its own script and load nothing. One that is served may ask its server for a newer version.
func policy(served bool) string {
	hash := sha256.Sum256([]byte(script))
	text := "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(hash[:]) + "'"
	if served {
		text += "; connect-src 'self'"
	}
	return text
}

func sectionOf(anchor string, in Input, views render.Views, several bool) section {
	run := in.Run
	s := section{
		Anchor: anchor, Name: filepath.Base(in.File), Run: true, Open: !in.Ended, Partial: run.Partial,
		Tables:   sheets(views.Tables(run, false)...),
		Findings: views.Findings(run), FindingsTitle: views.FindingsTitle(run), Warnings: result.OneEach(run.Warnings),
		Quality: sheets(append(view.Quality(run, true), disturbances(run))...), Environment: sheetOf(environment(in)), Options: sheetOf(options(run)),
		Commands: sheetOf(commands(run)),
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
		d := drawingOf(anchor+"-"+f.Anchor, figure)
		if f.Anchor == ratiosAnchor {
			s.Beside = &d
			continue
		}
		s.Figures = append(s.Figures, d)
	}
	return s
}

func drawingOf(anchor string, d chart.Drawing) drawing {
	return drawing{
		Anchor: anchor, Title: d.Title, Description: d.Description, SVG: labelled(d.SVG, anchor), Table: sheetOf(d.Table),
	}
}

// labelled names a drawing for a screen reader by its title and its description, with identifiers that are unique in
// the page.
func labelled(svg, name string) template.HTML {
	svg = strings.Replace(svg, ` role="img"`, fmt.Sprintf(` role="img" aria-labelledby="%s-title %[1]s-about"`, name), 1)
	svg = strings.Replace(svg, "<title>", fmt.Sprintf(`<title id="%s-title">`, name), 1)
	svg = strings.Replace(svg, "<desc>", fmt.Sprintf(`<desc id="%s-about">`, name), 1)
	return template.HTML(svg) // made by internal/publish/render, which escapes the texts in it
}
