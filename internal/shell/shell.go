// Package shell writes words as a POSIX shell reads them.
package shell

import "strings"

// plain are the characters that no shell treats in a special way.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-^"

// Join returns words as a line that a shell takes apart into them.
func Join(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Quote(word)
	}
	return strings.Join(quoted, " ")
}

// Quote returns a word in quotes where a shell would change it (POSIX.1-2024, XCU 2.2).
func Quote(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
