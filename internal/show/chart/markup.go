package chart

import (
	"fmt"
	"html"
	"strings"
)

// Markup is a piece of SVG. A text gets into one only by mark, which escapes it: it may be what a stranger's journal or a node has for a
// name.
type Markup string

// mark returns a piece of SVG. Of the arguments, int, float64 and Markup go into it as they are; all others are texts.
func mark(format Markup, args ...any) Markup {
	for i, arg := range args {
		switch arg.(type) {
		case int, float64, Markup:
		default:
			args[i] = html.EscapeString(fmt.Sprint(arg))
		}
	}
	return Markup(fmt.Sprintf(string(format), args...))
}

// pieces joins pieces of SVG.
type pieces struct{ text strings.Builder }

func (p *pieces) add(format Markup, args ...any) { p.put(mark(format, args...)) }

func (p *pieces) put(piece Markup) { p.text.WriteString(string(piece)) }

func (p *pieces) whole() Markup { return Markup(p.text.String()) }
