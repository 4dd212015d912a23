// Package shell writes words as a POSIX shell reads them.
package shell

import "strings"

// plain are the characters that no shell treats in a special way.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-^"

// Quote returns a word in quotes where a shell would change it (POSIX.1-2024, XCU 2.2).
func Quote(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
