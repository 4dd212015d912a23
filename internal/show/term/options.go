// Package term lays out a page of text, on a terminal or in a file: what the output can show, colours, grids whose
// columns line up, paragraphs that keep to a width, texts of strangers made safe, and what is redrawn while a run goes
// on.
package term

import (
	"os"
	"strings"

	"golang.org/x/term"

	"gorun/internal/base/lazy"
)

// Options say what the output can show. The zero value is a file or a pipe.
type Options struct {
	Terminal bool // a terminal: bars may be drawn
	Colour   bool // colour escapes may be written
	Width    int  // in columns; 0 means 80
	Height   int  // in lines; 0 means 24
	Verbose  bool // internals are shown too

	Size func() (width, height int, err error) // asks a terminal for its size, which may change; nil: it does not
}

// The size of a VT100, and of everything that cannot be asked.
const (
	DefaultWidth  = 80
	defaultHeight = 24
)

// OptionsFor asks the system about an output. Colour follows https://no-color.org (any NO_COLOR that is not empty turns
// it off) and TERM=dumb. The environment is a parameter, so that tests need not change their own.
func OptionsFor(out *os.File, getenv func(string) string) Options {
	fd := int(out.Fd())
	if !term.IsTerminal(fd) {
		return Options{}
	}
	dumb := getenv("TERM") == "dumb"
	opts := Options{Terminal: !dumb, Colour: !dumb && getenv("NO_COLOR") == ""}
	opts.Size = func() (width, height int, err error) { return term.GetSize(fd) }
	return opts.now()
}

// now returns the options with the present size of the terminal.
func (o Options) now() Options {
	if o.Size != nil {
		if width, height, err := o.Size(); err == nil {
			o.Width, o.Height = width, height
		}
	}
	return o
}

// Columns is the usable width.
func (o Options) Columns() int {
	if o.Width <= 0 {
		return DefaultWidth
	}
	return o.Width
}

// lines is the usable height.
func (o Options) lines() int {
	if o.Height <= 0 {
		return defaultHeight
	}
	return o.Height
}

// Colour is a Select Graphic Rendition code (ECMA-48 8.3.117).
type Colour string

const (
	Bold   Colour = "1"
	Dim    Colour = "2"
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
)

// Paint wraps text in a colour, if there is one and the output takes it. go-pretty's own colours obey a global switch
// and the process's environment, which a pure function cannot.
func (o Options) Paint(c Colour, text string) string {
	if !o.Colour || c == "" || text == "" {
		return text
	}
	return c.escape() + text + reset
}

// reset ends all colours.
const reset = "\x1b[0m"

// escape begins a colour.
func (c Colour) escape() string { return "\x1b[" + string(c) + "m" }

// coloured matches what Paint makes.
var coloured = lazy.Regexp("\x1b\\[[1-9][0-9]*m[^\x1b]*\x1b\\[0m")

// Dimmed makes the lines of a block less prominent. What has a colour keeps it.
func Dimmed(block string, opts Options) string {
	if !opts.Colour {
		return block
	}
	var dimmed strings.Builder
	for line := range strings.Lines(block) {
		text := strings.TrimSpace(line)
		indent, _, _ := strings.Cut(line, text)
		text = coloured().ReplaceAllString(text, reset+"$0"+Dim.escape())
		dimmed.WriteString(indent + opts.Paint(Dim, text) + "\n")
	}
	return dimmed.String()
}
