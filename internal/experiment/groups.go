package experiment

import (
	"slices"

	"github.com/spf13/pflag"
)

// Groups of flags, by the titles that help shows above them.
const (
	GroupOwn     = "Flags" // of an experiment without its own groups
	GroupCells   = "Cells"
	GroupSamples = "Samples"

	// Flags that are the same in every run: help names them in one line.
	GroupCPUs    = "CPUs"
	GroupOrder   = "Order"
	GroupOutput  = "Output"
	GroupMetrics = "Metrics"
)

const (
	groupKey = "gorun_group"
	ownerKey = "gorun_owner"
	rareKey  = "gorun_rare"
)

// Group puts flags into the group with this title: those with these names or, without names, all flags that have no
// group yet.
func (f *FlagSet) Group(title string, names ...string) {
	f.VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(names, flag.Name) || len(names) == 0 && GroupOf(flag) == "" {
			_ = f.SetAnnotation(flag.Name, groupKey, []string{title}) // an error: there is no such flag
		}
	})
}

// GroupOf returns the title of a flag's group; "" if it is in none.
func GroupOf(flag *pflag.Flag) string {
	if titles := flag.Annotations[groupKey]; len(titles) > 0 {
		return titles[0]
	}
	return ""
}

// Rare marks flags that few need: --help names them in one line, and `gorun help COMMAND` describes them.
func (f *FlagSet) Rare(names ...string) {
	for _, name := range names {
		if f.Lookup(name) != nil {
			_ = f.SetAnnotation(name, rareKey, nil) // there is such a flag
		}
	}
}

// IsRare reports whether few need a flag.
func IsRare(flag *pflag.Flag) bool {
	_, rare := flag.Annotations[rareKey]
	return rare
}

// OwnedBy notes the command that a flag is from, whose help describes it.
func (f *FlagSet) OwnedBy(command, flag string) {
	_ = f.SetAnnotation(flag, ownerKey, []string{command}) // there is such a flag
}

// OwnerOf returns the command that a flag is from; "": its own.
func OwnerOf(flag *pflag.Flag) string {
	if owner := flag.Annotations[ownerKey]; len(owner) > 0 {
		return owner[0]
	}
	return ""
}
