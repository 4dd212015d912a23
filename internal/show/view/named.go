package view

import (
	"cmp"
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
	const end = "\x00" // of a word: no name has it
	name := " " + cell.Name + " "
	for flag, value := range cell.Flags {
		typed, said := "--"+flag+" "+shell.Quote(value), FlagWords(flag)+" "+value
		switch value {
		case "true":
			typed, said = "--"+flag, FlagWords(flag)
		case "false":
			typed, said = "--"+flag+"=false", "no "+FlagWords(flag)
		}
		name = strings.Replace(name, " "+typed+" ", " "+end+said+end+" ", 1)
	}
	var words []string
	for word := range strings.SplitSeq(name, end) {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return cmp.Or(strings.Join(words, " · "), cell.Name)
}
