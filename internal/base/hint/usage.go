package hint

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// usage marks an error of wrong use.
type usage struct{ error }

func (e usage) Unwrap() error { return e.error }

// Usage marks an error as wrong use of the command line: exit code 2. nil stays nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return usage{err}
}

// Usagef makes an error of wrong use.
func Usagef(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

// Flag makes an error of wrong use that begins with a flag and the value that it was given. A path is not repeated.
func Flag(name, value string, err error) error {
	if path := new(fs.PathError); errors.As(err, &path) && path.Error() == err.Error() {
		err = path.Err
	}
	return Usagef("--%s %s: %w", name, Word(value), err)
}

// The maximum length of a text in messages, in bytes.
const (
	mostShown   = 80   // of a flag's value
	mostWord    = 300  // of a word in a message
	mostMessage = 2000 // of a message
)

// Word returns a text as one word of a message: quoted if it is empty or not printable, and shortened if it is long.
func Word(text string) string {
	short := cut(text, mostShown)
	if short == "" || strings.ContainsFunc(short, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(short)
	}
	return short
}

// Printable returns a message that is safe to show on a terminal: characters that cannot be printed are escaped as in
// Go, so that they cannot move the cursor or change colours, the middle of a long word or message is left out, and its further lines
// are indented, so that none looks like a message of its own.
func Printable(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		words[i] = cut(word, mostWord)
	}
	var b strings.Builder
	for _, r := range cut(strings.Join(words, " "), mostMessage) {
		switch {
		case r == '\n':
			b.WriteString("\n  ")
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// cut leaves out the middle of a text that is longer than most bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head, tail := most/2, len(text)-most/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s… (%d bytes) …%s", text[:head], len(text), text[tail:])
}

// IsUsage reports whether an error is one of wrong use.
func IsUsage(err error) bool { return errors.As(err, new(usage)) }
