package experiment

import (
	"strconv"
	"strings"

	"gorun/internal/hint"
	"gorun/internal/linux"
)

// Nice is the flag --nice. Without it nothing is set, which is not the same as 0.
type Nice struct{ Nice *int }

// Register adds the flag; whose names what gets the nice value.
func (f *Nice) Register(set *FlagSet, whose string) {
	usage := "nice value"
	if whose != "" {
		usage += " of " + whose
	}
	set.OptionalInt(&f.Nice, "nice", usage+", -20 to 19")
}

// Validate returns an error for a value that Linux does not have.
func (f *Nice) Validate() error {
	if f.Nice == nil {
		return nil
	}
	if err := linux.CheckNice(*f.Nice); err != nil {
		return hint.Flag("nice", strconv.Itoa(*f.Nice), err)
	}
	return nil
}

// Sched is the flag --sched.
type Sched struct {
	Sched  string
	Policy *linux.Sched // after Validate; nil: none requested
}

// Register adds the flag; whose names what gets the policy.
func (f *Sched) Register(set *FlagSet, whose string) {
	usage := "scheduling `policy`"
	if whose != "" {
		usage += " of " + whose
	}
	set.StringVar(&f.Sched, "sched", "", usage+": "+strings.Join(linux.PolicyUsages(), ", "))
	set.Words("sched", linux.PolicyUsages())
}

// Validate parses the policy.
func (f *Sched) Validate() error {
	if f.Sched == "" {
		return nil
	}
	policy, err := linux.ParseSched(f.Sched)
	if err != nil {
		return hint.Flag("sched", f.Sched, err)
	}
	f.Policy = &policy
	return nil
}
