// Package page writes HTML pages of what gorun shows: one self-contained file, which needs no network and no other file.
package page

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/chart"
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
	return template.Must(template.New("page").Funcs(template.FuncMap{"sheet": sheetOf, "labelled": labelled}).Parse(pageText))
})

// Page is the data of the template.
type Page struct {
	Title         string // the question
	Answer        []view.Statement
	Facts         []Fact
	Version       string
	Refresh       int // seconds between two looks for a newer version
	Policy        string
	Style, Script template.HTML
	Together      []table.Table
	Runs          []Section
}

// Section is one run of the page.
type Section struct {
	Anchor, Name  string
	Run           bool             // it has what only runs have
	Answer        []view.Statement // where it is not in the page's head
	Open          bool             // in progress, or killed
	Partial       bool
	Tables        []table.Table
	Findings      []result.Finding
	FindingsTitle string
	Warnings      []result.Warning
	Beside        *Drawing // of the verdicts, next to their table
	Figures       []Drawing
	Quality       []table.Table
	Environment   table.Table
	Options       table.Table
	Command       string
	Commands      table.Table
}

// Drawing is a figure of a section, at an anchor.
type Drawing struct {
	Anchor string
	chart.Drawing
}

// Fact is a line below the answer: a name, and a text for each run, or one text if all runs have the same.
type Fact struct {
	Name  string
	Texts []string
}

// Refresh is the number of seconds after which a served page asks again for a newer version. Making the page takes CPU time from the
// measured run.
const Refresh = 5

// New returns a page without contents; version is that of a page that refreshes itself.
func New(version string) Page {
	return Page{
		Version: version, Refresh: Refresh, Policy: policy(version != ""),
		Style:  template.HTML("<style>\n" + style + "</style>"),
		Script: template.HTML("<script>" + script + "</script>"),
	}
}

// Write writes the page.
func (p Page) Write(w io.Writer) error {
	if err := pageTemplate().Execute(w, p); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

// Write writes a page about something that is no run, whose texts have been made safe to show.
func Write(w io.Writer, title string, shown view.Page, drawings []chart.Drawing) error {
	p := New("")
	p.Title, p.Answer = title, shown.Answer
	s := Section{Anchor: "found", Tables: shown.Tables, Warnings: shown.Warnings}
	for i, drawn := range drawings {
		s.Figures = append(s.Figures, Drawing{fmt.Sprintf("drawing%d", i+1), drawn})
	}
	p.Runs = []Section{s}
	return p.Write(w)
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

// labelled names a drawing for a screen reader by its title and its description, with identifiers that are unique in
// the page.
func labelled(svg, name string) template.HTML {
	svg = strings.Replace(svg, ` role="img"`, fmt.Sprintf(` role="img" aria-labelledby="%s-title %[1]s-about"`, name), 1)
	svg = strings.Replace(svg, "<title>", fmt.Sprintf(`<title id="%s-title">`, name), 1)
	svg = strings.Replace(svg, "<desc>", fmt.Sprintf(`<desc id="%s-about">`, name), 1)
	return template.HTML(svg) // made by internal/show/chart, which escapes the texts in it
}

// sheetOf returns a table as the page has it: without what is drawn, and with verdicts next to what they are about, so that a narrow page
// shows them.
func sheetOf(t table.Table) table.Sheet {
	sheet := t.Sheet()
	place := func(n int) int {
		switch c := sheet.Columns[n]; {
		case c.Label:
			return 0
		case c.IsVerdict():
			return 1
		}
		return 2
	}
	var order []int
	for n, c := range sheet.Columns {
		if !c.Bar {
			order = append(order, n)
		}
	}
	if slices.ContainsFunc(t.Columns, func(c table.Column) bool { return c.Label }) {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(place(a), place(b)) })
	}
	return sheet.Pick(order)
}
