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
	groupKey   = "gorun_group"
	ownerKey   = "gorun_owner"
	rareKey    = "gorun_rare"
	neutralKey = "gorun_neutral"
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

// Neutral marks flags that do not decide what a sample measures. --resume continues a run with any values of them; where another one would make
// it another run, as that of --seed, the run compares it itself.
func (f *FlagSet) Neutral(names ...string) { f.mark(neutralKey, names) }

// IsNeutral reports whether a flag does not decide what a sample measures.
func IsNeutral(flag *pflag.Flag) bool { return marked(flag, neutralKey) }

// Rare marks flags that few need: --help names them in one line, and `gorun help COMMAND` describes them.
func (f *FlagSet) Rare(names ...string) { f.mark(rareKey, names) }

// IsRare reports whether few need a flag.
func IsRare(flag *pflag.Flag) bool { return marked(flag, rareKey) }

// mark marks those of the flags that the set has.
func (f *FlagSet) mark(key string, names []string) {
	for _, name := range names {
		_ = f.SetAnnotation(name, key, nil) // an error: there is no such flag
	}
}

func marked(flag *pflag.Flag, key string) bool {
	_, is := flag.Annotations[key]
	return is
}

// Asked returns the values of the flags on the command line that are not neutral and not the default, by name.
func (f *FlagSet) Asked() map[string]string {
	asked := map[string]string{}
	f.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && !IsNeutral(flag) && flag.Value.String() != flag.DefValue {
			asked[flag.Name] = flag.Value.String()
		}
	})
	return asked
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
