// Package catalog reads the tables of what a flag can name: methods, operations, load patterns, placements, formats. A row
// that is added to a table is found, listed in the help, completed and told in the error, by this alone.
package catalog

import (
	"fmt"
	"strings"
)

// Entry is a row of such a table.
type Entry interface {
	Entry() (name, usage string)
}

// Find returns the entry of that name, and else an error that says what there is instead: "unknown split \"x\": there
// are …". what is the word for one of them.
func Find[E Entry](entries []E, what, name string) (found E, err error) {
	for _, e := range entries {
		if is, _ := e.Entry(); is == name {
			return e, nil
		}
	}
	return found, fmt.Errorf("unknown %s %q: there are %s", what, name, List(entries))
}

// Names are the entries' names, in order.
func Names[E Entry](entries []E) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i], _ = e.Entry()
	}
	return names
}

// List has the names as a person reads them: "brute, modulo, sieve".
func List[E Entry](entries []E) string { return strings.Join(Names(entries), ", ") }

// Words are for a shell's completion: a name, a tab, what it is.
func Words[E Entry](entries []E) []string {
	words := make([]string, len(entries))
	for i, e := range entries {
		name, usage := e.Entry()
		words[i] = name + "\t" + usage
	}
	return words
}
