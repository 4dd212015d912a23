package hint

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"gorun/internal/base/lazy"
)

// Acts reports whether a character does more than appear: it controls a terminal, ends a line, or changes the direction of writing
// (https://trojansource.codes).
func Acts(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// Escape returns a text in which the characters that act are escaped, as in JSON and in Go: JSON keeps its values. It keeps line
// ends, tabs and colours, which are gorun's own. Bytes that are no UTF-8 become the replacement character.
func Escape(text []byte) []byte {
	var e Escaper
	return e.escape(text, false)
}

// Plain returns a text in which all characters that act are escaped, other than those to keep.
func Plain(text, keep string) string {
	var b strings.Builder
	for _, r := range text {
		if Acts(r) && !strings.ContainsRune(keep, r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Line returns a text as a part of a line of a message: Printable, and without line ends.
func Line(text string) string { return Printable(Plain(text, "")) }

// Escaper is a writer that escapes as Escape does: the text may come from a file, a process, an endpoint or a node of somebody else.
type Escaper struct {
	W    io.Writer
	Keep string // other characters that stay

	mu   sync.Mutex
	rest []byte // the beginning of a character
}

// Write implements io.Writer. The beginning of a character at the end of p is written when the rest of it is.
func (e *Escaper) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := len(e.rest)
	if before > 0 {
		p = slices.Concat(e.rest, p)
	}
	if _, err := e.W.Write(e.escape(p, true)); err != nil {
		return 0, err
	}
	return len(p) - before, nil
}

var (
	// own matches gorun's own control sequences: a colour, a move to a line above, and clearing the rest of one (console_codes(4)).
	own   = lazy.Regexp(`^\x1b\[[0-9]{0,4}[mAK]`)
	begun = lazy.Regexp(`^\x1b(\[[0-9]{0,4})?$`)
)

// escape escapes a text. more: its end may be the beginning of a character, which becomes the rest.
func (e *Escaper) escape(text []byte, more bool) (safe []byte) {
	e.rest = nil
	done := 0 // what is in safe
	for i := 0; i < len(text); {
		if c := text[i]; c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		after := text[i:]
		r, size := utf8.DecodeRune(after)
		stands := ""
		switch {
		case more && (!utf8.FullRune(after) || r == '\x1b' && begun().Match(after)):
			e.rest = slices.Clone(after)
			return append(safe, text[done:i]...)
		case r == '\x1b' && own().Match(after):
			size = len(own().Find(after))
		case r == utf8.RuneError && size == 1:
			stands = string(r)
		case Acts(r) && !strings.ContainsRune(e.Keep, r):
			stands = fmt.Sprintf(`\u%04x`, r) // all are below U+10000
		}
		if stands != "" {
			safe = append(append(safe, text[done:i]...), stands...)
			done = i + size
		}
		i += size
	}
	if done == 0 {
		return text
	}
	return append(safe, text[done:]...)
}
