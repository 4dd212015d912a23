package experiment

import (
	"slices"
	"strings"

	"gorun/internal/machine/topology"
)

// Completion completes the values of one flag: by words, by what this machine has, or by files.
type Completion struct {
	Flag    string
	Words   func() []string                                 // a description may follow each word after a tab
	On      func(m *topology.Machine, text string) []string // what the text may become on a machine
	Between string                                          // separates the words of a list; "": the value is one word
	Files   []string                                        // extensions
	OrFiles bool                                            // where no word fits, any file does
}

// Values returns what a typed value may become. Of a list, the last word is completed, by words that are not in it yet. After another
// word, descriptions are left out: cobra's script for bash drops a word that has a comma and a description.
func (c Completion) Values(machine func() (*topology.Machine, error), typed string) (all []string, err error) {
	last := typed
	if c.Between != "" {
		last = typed[strings.LastIndex(typed, c.Between)+1:]
	}
	var words []string
	if c.On == nil {
		words = c.Words()
	} else {
		m, err := machine()
		if err != nil {
			return nil, err
		}
		words = c.On(m, last)
	}
	before := strings.TrimSuffix(typed, last)
	there := strings.Split(strings.TrimSuffix(before, c.Between), c.Between)
	for _, word := range words {
		name, _, _ := strings.Cut(word, "\t")
		switch {
		case c.Between != "" && (!strings.HasPrefix(name, last) || slices.Contains(there, name)):
		case before == "":
			all = append(all, word)
		default:
			all = append(all, before+name)
		}
	}
	return all, nil
}

// Complete completes a flag from a fixed list; a description may follow each word after a tab.
func (f *FlagSet) Complete(flag string, words []string) {
	f.WordsOf(flag, func() []string { return words })
}

// WordsOf completes a flag from a list that depends on other flags.
func (f *FlagSet) WordsOf(flag string, words func() []string) {
	f.Completions = append(f.Completions, Completion{Flag: flag, Words: words})
}

// Lists completes a flag whose value is a list of these words, joined by commas.
func (f *FlagSet) Lists(flag string, words []string) {
	f.Completions = append(f.Completions, Completion{Flag: flag, Words: func() []string { return words }, Between: ","})
}

// CPUList completes a flag with the selectors of this machine.
func (f *FlagSet) CPUList(flag string) {
	f.On(flag, (*topology.Machine).Complete)
}

// On completes a flag from what this machine has: what a text may become.
func (f *FlagSet) On(flag string, complete func(m *topology.Machine, text string) []string) {
	f.Completions = append(f.Completions, Completion{Flag: flag, On: complete})
}

// Files completes a flag with files of these extensions.
func (f *FlagSet) Files(flag string, extensions ...string) {
	f.Completions = append(f.Completions, Completion{Flag: flag, Files: extensions})
}

// WordsOrFiles completes a flag from a list, and from all files where none of its words fits.
func (f *FlagSet) WordsOrFiles(flag string, words func() []string) {
	f.Completions = append(f.Completions, Completion{Flag: flag, Words: words, OrFiles: true})
}

// Vary completes a flag NAME=VALUES: the names, and the values of each as its own completion has them.
func (f *FlagSet) Vary(flag string, names []string, values []Completion) {
	f.On(flag, func(m *topology.Machine, text string) (all []string) {
		name, value, found := strings.Cut(text, "=")
		if !found {
			for _, name := range names {
				all = append(all, name+"=")
			}
			return all
		}
		for _, c := range values {
			if c.Flag != name || c.On == nil && c.Words == nil {
				continue
			}
			words, _ := c.Values(func() (*topology.Machine, error) { return m, nil }, value) // there is a machine
			for _, word := range words {
				word, _, _ = strings.Cut(word, "\t")
				all = append(all, name+"="+word)
			}
		}
		return all
	})
}
