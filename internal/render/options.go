package render

import (
	"os"

	"golang.org/x/term"
)

// Options say what the output can show. The zero value is a file or a pipe.
type Options struct {
	Terminal bool // a terminal: bars may be drawn
	Colour   bool // colour escapes may be written
	Width    int  // in columns; 0 means 80
	Height   int  // in lines; 0 means 24
}

// The size of a VT100, and of everything that cannot be asked.
const (
	defaultWidth  = 80
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
	if width, height, err := term.GetSize(fd); err == nil {
		opts.Width, opts.Height = width, height
	}
	return opts
}

// columns is the usable width.
func (o Options) columns() int {
	if o.Width <= 0 {
		return defaultWidth
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

// colour is a Select Graphic Rendition code (ECMA-48 8.3.117).
type colour string

const (
	bold   colour = "1"
	dim    colour = "2"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
)

// paint wraps text in a colour, if there is one and the output takes it. go-pretty's own colours obey a global switch
// and the process's environment, which a pure function cannot.
func (o Options) paint(c colour, text string) string {
	if !o.Colour || c == "" || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}
