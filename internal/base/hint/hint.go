// Package hint makes what people read about errors. A hint is a sentence that says what to do, shown separately from the
// error: any error with a method Hint() string has one. Errors of wrong use are marked, and texts from outside are escaped.
package hint

import (
	"errors"
	"strings"
)

type hinted struct {
	error
	text string
}

func (h hinted) Unwrap() error { return h.error }
func (h hinted) Hint() string  { return h.text }

// With returns the error with a hint; with the error's own one if the text is empty.
func With(err error, text string) error {
	if text = strings.TrimSpace(text); text == "" {
		return err
	}
	return hinted{err, text}
}

// Of returns the outermost hint of an error; "" when it has none.
func Of(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
