package view

import (
	"slices"
	"strings"

	"gorun/internal/base/shell"
	"gorun/internal/record/result"
)

// FlagWords are flags as a text names them, where they are not typed.
func FlagWords(flag string) string {
	if flag == "gomaxprocs" {
		return "GOMAXPROCS"
	}
	return flag
}

// Named returns the run with its cells named as people read them: "nice 0 · GOMAXPROCS 1" for "--nice 0 --gomaxprocs 1". Names that
// are not made of flags, or that would be alike, stay.
func Named(run *result.Run) *result.Run {
	named := *run
	named.Cells = slices.Clone(run.Cells)
	seen := map[string]bool{}
	for i := range named.Cells {
		cell := &named.Cells[i]
		cell.Name = nameOf(*cell)
		if seen[cell.Name] {
			return run
		}
		seen[cell.Name] = true
	}
	return &named
}

// nameOf returns the name of a cell in words. Its name has flags as they are typed.
func nameOf(cell result.Cell) string {
	var words []string
	plain := false // the last word is not of a flag
	for rest := cell.Name; rest != ""; rest = strings.TrimPrefix(rest, " ") {
		if typed, said := flagAt(rest, cell.Flags); typed != "" {
			words, rest, plain = append(words, said), rest[len(typed):], false
			continue
		}
		word, _, _ := strings.Cut(rest, " ")
		if rest = rest[len(word):]; plain {
			words[len(words)-1] += " " + word
		} else {
			words, plain = append(words, word), true
		}
	}
	return strings.Join(words, " · ")
}

// flagAt returns the flag with which a text begins, as it is typed and in words; "": it begins with none.
func flagAt(text string, flags map[string]string) (typed, said string) {
	for flag, value := range flags {
		typed, said = "--"+flag+" "+shell.Quote(value), FlagWords(flag)+" "+value
		switch value {
		case "true":
			typed, said = "--"+flag, FlagWords(flag)
		case "false":
			typed, said = "--"+flag+"=false", "no "+FlagWords(flag)
		}
		if after, begins := strings.CutPrefix(text, typed); begins && (after == "" || after[0] == ' ') {
			return typed, said
		}
	}
	return "", ""
}
