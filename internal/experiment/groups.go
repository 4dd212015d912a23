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
	GroupOutput  = "Output"
	GroupMetrics = "Metrics"
)

const groupKey = "gorun_group"

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
