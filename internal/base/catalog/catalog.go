// Package catalog reads the tables of the values that a flag can name: methods, operations, load patterns, placements,
// formats. A row that is added to a table automatically appears in look-ups, help, completion and errors.
package catalog

import (
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/hint"
)

// Entry is a row of such a table.
type Entry interface {
	Entry() (name, usage string)
}

// Find returns the entry with this name, or an error that lists the names: "unknown split \"x\": there are …". what is
// the word for an entry.
func Find[E Entry](entries []E, what, name string) (found E, err error) {
	for _, e := range entries {
		if is, _ := e.Entry(); is == name {
			return e, nil
		}
	}
	return found, hint.With(fmt.Errorf("unknown %s %q: there are %s", what, name, List(entries)), hint.Near(name, Names(entries)))
}

// ParseList returns the values of words that are joined by commas, each once.
func ParseList[T comparable](list string, parse func(word string) (T, error)) (values []T, err error) {
	for word := range strings.SplitSeq(list, ",") {
		value, err := parse(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values, nil
}

// Names returns the names of the entries, in order.
func Names[E Entry](entries []E) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i], _ = e.Entry()
	}
	return names
}

// List returns the names as text: "brute, modulo, trial".
func List[E Entry](entries []E) string { return strings.Join(Names(entries), ", ") }

// Completions returns the words for a shell's completion: a name, a tab, a description.
func Completions[E Entry](entries []E) []string {
	words := make([]string, len(entries))
	for i, e := range entries {
		name, usage := e.Entry()
		words[i] = name + "\t" + usage
	}
	return words
}
