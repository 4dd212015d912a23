package result

import (
	"cmp"
	"fmt"
)

// condition is something other than its placement that changes how long a program takes.
type condition struct {
	name string
	of   func(*Run) string // "": not known
}

// conditions lists the conditions, in the order in which differences are reported.
var conditions = []condition{
	{"version", version},
	{"binary", func(r *Run) string { return r.Tool.SHA256[:min(shortHash, len(r.Tool.SHA256))] }},
	{"go", func(r *Run) string { return r.Tool.Go }},
	{"c-compiler", func(r *Run) string { return r.Tool.C }},
	{"kernel", func(r *Run) string { return r.Host.Kernel }},
	{"kernel-command-line", func(r *Run) string { return r.Host.CommandLine }},
	{"arch", func(r *Run) string { return r.Host.Arch }},
	{"cpu-model", func(r *Run) string { return r.Host.CPUModel }},
	{"microcode", func(r *Run) string { return r.Host.Microcode }},
	{"hypervisor", func(r *Run) string { return map[bool]string{true: "yes", false: "no"}[r.Host.Hypervisor] }},
	{"topology", func(r *Run) string { return r.Host.Topology }},
	{"cpus", func(r *Run) string { return r.Host.Allowed }},
	{"gomaxprocs", func(r *Run) string { return positive(r.Host.GOMAXPROCS, "%d", "") }},
	{"cpu-quota", cpuQuota},
	{"memory-limit", func(r *Run) string { return positive(r.Host.MemoryLimit, "%d bytes", noLimit) }},
	{"governor", func(r *Run) string { return r.Host.Governor }},
	{"turbo", func(r *Run) string { return r.Host.Turbo }},
	{"smt", func(r *Run) string { return r.Host.SMT }},
	{"clocksource", func(r *Run) string { return r.Host.Clocksource }},
	{"mitigations", func(r *Run) string { return r.Host.Mitigations }},
	{"transparent-hugepages", func(r *Run) string { return r.Host.THP }},
	{"numa-balancing", func(r *Run) string { return r.Host.NUMABalancing }},
	{migrationCost, func(r *Run) string { return r.Host.MigrationCost }},
	{"aslr", func(r *Run) string { return r.Host.ASLR }},
	{"environment", func(r *Run) string { return cmp.Or(r.Host.Environment, "no variables") }},
	{"host", func(r *Run) string { return r.Host.Hostname }},
	{"boot", func(r *Run) string { return r.Host.BootID }},
}

// Identity is what no two runs share. Journals of the same run have the same identity, also if one was copied before the run ended or was
// resumed.
type Identity struct {
	Experiment, Hostname, Boot, Started string
	Seed                                uint64
}

// Identity returns the identity of a run.
func (r *Run) Identity() Identity {
	return Identity{r.Experiment, r.Host.Hostname, r.Host.BootID, r.Started, r.Seed}
}

// Once returns, for each of several journals, the index of the one that counts. Of the journals of one run, that is the one with the most
// samples, and among equals a complete one.
func Once(runs []*Run) []int {
	counts := map[Identity]int{}
	for i, run := range runs {
		is := run.Identity()
		before, found := counts[is]
		if !found || cmp.Or(cmp.Compare(run.Samples.Len(), runs[before].Samples.Len()), partial(runs[before])-partial(run)) > 0 {
			counts[is] = i
		}
	}
	of := make([]int, len(runs))
	for i, run := range runs {
		of[i] = counts[run.Identity()]
	}
	return of
}

func partial(r *Run) int { return map[bool]int{true: 1}[r.Partial] }

// shortHash is the number of digits of a hash in reports: enough to distinguish a user's programs.
const shortHash = 12

// Conditions returns the names that a Difference can have, in order.
func Conditions() []string {
	names := make([]string, len(conditions))
	for i, c := range conditions {
		names[i] = c.name
	}
	return names
}

// migrationCost can be read only by root: an unknown value is not a difference.
const migrationCost = "migration-cost"

// unknown is the value of a condition that is not known.
const unknown = "not known"

// ConditionsOf returns the conditions of a run by name. A condition that is not known has a value that says so. It is absent if
// reading it needs a privilege.
func ConditionsOf(r *Run) map[string]string {
	values := map[string]string{}
	for _, c := range conditions {
		if value := c.of(r); value != "" || c.name != migrationCost {
			values[c.name] = cmp.Or(value, unknown)
		}
	}
	return values
}

// Differences returns the conditions that differ between two runs, in the order of Conditions. A condition that is
// known for only one of them is a difference too, unless reading it needs a privilege.
func Differences(a, b *Run) []Difference {
	differences := []Difference{}
	inA, inB := ConditionsOf(a), ConditionsOf(b)
	for _, name := range Conditions() {
		if x, y := inA[name], inB[name]; x != y && x != "" && y != "" {
			differences = append(differences, Difference{What: name, A: x, B: y})
		}
	}
	return differences
}

func version(r *Run) string {
	if r.Tool.Commit == "" {
		return r.Tool.Version
	}
	return r.Tool.Version + " (" + r.Tool.Commit + ")"
}

const noLimit = "no limit"

func cpuQuota(r *Run) string {
	if r.Host.CPUQuota == nil {
		return noLimit
	}
	return fmt.Sprintf("%g CPUs", *r.Host.CPUQuota)
}

// positive formats a number; 0 is shown as none.
func positive[N int | uint64](n N, format, none string) string {
	if n == 0 {
		return none
	}
	return fmt.Sprintf(format, n)
}
