package view

import (
	"regexp"
	"strings"
)

// plainWord is a word that no shell changes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_%+,./:=@^-]+$`)

// ShellWord quotes a word for a POSIX shell, where that is needed.
func ShellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
