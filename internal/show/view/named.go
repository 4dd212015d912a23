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

// nameOf returns the name of a cell in words.
func nameOf(cell result.Cell) string {
	type part struct {
		at         int
		typed, say string
	}
	var parts []part
	for flag, value := range cell.Flags {
		typed, say := "--"+flag+" "+shell.Quote(value), FlagWords(flag)+" "+value
		switch value {
		case "true":
			typed, say = "--"+flag, FlagWords(flag)
		case "false":
			typed, say = "--"+flag+"=false", "no "+FlagWords(flag)
		}
		for from := 0; ; from++ {
			at := strings.Index(cell.Name[from:], typed)
			if at < 0 {
				break
			}
			from += at
			if end := from + len(typed); (from == 0 || cell.Name[from-1] == ' ') && (end == len(cell.Name) || cell.Name[end] == ' ') {
				parts = append(parts, part{from, typed, say})
				break
			}
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.at, b.at) })
	var words []string
	at := 0
	for _, p := range parts {
		if p.at < at {
			return cell.Name
		}
		words, at = append(words, strings.TrimSpace(cell.Name[at:p.at]), p.say), p.at+len(p.typed)
	}
	words = append(words, strings.TrimSpace(cell.Name[at:]))
	words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
	return cmp.Or(strings.Join(words, " · "), cell.Name)
}
