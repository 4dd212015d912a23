package manual

import (
	"fmt"
	"strings"
)

// Page is a man page in the making, in the macros of groff_man(7). Its zero value is not one: see NewPage.
type Page struct {
	Name    string // "gorun-primes"
	Section int    // of the manual: 1 has commands, 7 what is not a command
	body    strings.Builder
}

// NewPage begins a page. whatis(1) shows summary; source is the program with its version.
func NewPage(name string, section int, summary, source string) *Page {
	p := &Page{Name: name, Section: section}
	fmt.Fprintf(&p.body, ".TH \"%s\" \"%d\" \"\" \"%s\" \"gorun\"\n.nh\n.ad l\n.SH NAME\n%s \\- %s\n",
		escape(strings.ToUpper(name)), section, escape(source), escape(name), escape(summary))
	return p
}

// File returns the name of the page's file: "gorun-primes.1".
func (p *Page) File() string { return fmt.Sprintf("%s.%d", p.Name, p.Section) }

// Bytes returns the page as troff(1) reads it.
func (p *Page) Bytes() []byte { return []byte(p.body.String()) }

// Heading begins a section of the page.
func (p *Page) Heading(title string) {
	fmt.Fprintf(&p.body, ".SH %s\n", escape(strings.ToUpper(title)))
}

// Subheading begins a part of a section.
func (p *Page) Subheading(title string) { fmt.Fprintf(&p.body, ".SS %s\n", roff(title)) }

// Code adds lines that stay as they are.
func (p *Page) Code(lines string) {
	p.body.WriteString(".PP\n.RS 2\n.EX\n")
	for line := range strings.Lines(lines) {
		p.body.WriteString(textLine(escape(strings.TrimRight(line, "\n"))))
	}
	p.body.WriteString(".EE\n.RE\n")
}

// Term adds a term, which is code, with its meaning in Markdown's inline marks.
func (p *Page) Term(term, meaning string) {
	p.body.WriteString(".TP\n" + textLine(`\fB`+escape(term)+`\fP`) + textLine(roff(meaning)))
}

// Markdown adds a document. Its headings begin parts of the section.
func (p *Page) Markdown(markdown string) {
	for _, b := range parse(markdown) {
		switch b.kind {
		case heading:
			p.Subheading(b.text)
		case code:
			p.Code(strings.Join(b.lines, "\n") + "\n")
		case list:
			for _, i := range b.items {
				mark := i.mark
				if mark == "-" {
					mark = `\(bu`
				}
				fmt.Fprintf(&p.body, ".IP %s 3\n%s", mark, textLine(roff(i.text)))
			}
		case table:
			for _, row := range b.rows {
				p.body.WriteString(".TP\n" + textLine(roff(row[0])))
				next := ""
				for column, cell := range row[1:] {
					if cell != "" {
						p.body.WriteString(next + textLine(roff(b.label(column+1)+cell)))
						next = ".br\n"
					}
				}
			}
		default:
			p.body.WriteString(".PP\n" + textLine(roff(b.text)))
		}
	}
}

// textLine returns a line of text that is not taken for a request, as one that begins with a period or an apostrophe would be.
func textLine(line string) string {
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line + "\n"
}

// roff returns a text with its spans as fonts.
func roff(text string) string {
	var out strings.Builder
	for _, s := range spans(text) {
		switch s.style {
		case "code", "strong":
			out.WriteString(`\fB` + escape(s.text) + `\fP`)
		case "emphasis":
			out.WriteString(`\fI` + escape(s.text) + `\fP`)
		case "link":
			out.WriteString(escape(s.text + " (" + s.to + ")"))
		default:
			out.WriteString(escape(s.text))
		}
	}
	return out.String()
}

// escape makes a text mean itself (groff_char(7)): hyphens, quotes and accents stay those of ASCII, so that a command can be
// copied from the page.
var escape = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`).Replace
