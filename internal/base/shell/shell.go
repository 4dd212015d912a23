// Package shell quotes and splits words for a POSIX shell.
package shell

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"gorun/internal/base/hint"
)

// plain holds the characters that are special in no shell.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-^"

// CheckText returns an error for a word that is not UTF-8. A journal is JSON, and cannot keep such a word.
func CheckText(words ...string) error {
	for _, word := range words {
		if !utf8.ValidString(word) {
			return hint.With(fmt.Errorf("%q is no UTF-8, and a run keeps its commands as text", word),
				"let a script run it; gorun exec runs one command with any words")
		}
	}
	return nil
}

// Join returns a line to be printed, which a shell splits into these words when it is pasted.
func Join(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		if strings.ContainsFunc(word, unprintable) {
			quoted[i] = printable(word)
		} else {
			quoted[i] = Quote(word)
		}
	}
	return strings.Join(quoted, " ")
}

func unprintable(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

// printable returns a word in dollar-single-quotes, which bash, zsh, ksh and busybox read (POSIX.1-2024, XCU 2.2.4), with what
// cannot be printed as octal bytes.
func printable(word string) string {
	var out strings.Builder
	for len(word) > 0 {
		r, size := utf8.DecodeRuneInString(word)
		switch {
		case r == '\n':
			out.WriteString(`\n`)
		case unprintable(r):
			for i := range size {
				fmt.Fprintf(&out, `\%03o`, word[i])
			}
		case r == '\'', r == '\\':
			out.WriteString(`\` + string(r))
		default:
			out.WriteRune(r)
		}
		word = word[size:]
	}
	return "$'" + out.String() + "'"
}

// Quote returns a word in quotes where a shell would change it (POSIX.1-2024, XCU 2.2).
func Quote(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
