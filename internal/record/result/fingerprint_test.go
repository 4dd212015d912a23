package result

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"gorun/internal/base/packed"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// known returns a run with all conditions known.
func known() *Run {
	quota := 1.5
	return &Run{
		Tool: Tool{
			Name: "gorun", Version: "v1.2.0", Commit: "20d9fd4", Go: "go1.26.8", C: "gcc 12.2.0",
			SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		},
		Host: Host{
			Hostname: "left", OS: "linux", Arch: "amd64", Kernel: "6.18.0", CPUModel: "Example 1", Microcode: "0x1",
			Hypervisor: true, CPUs: 8, Online: 8, Cores: 4, LLCs: 2, Nodes: 1, Packages: 1, Allowed: "0-7", GOMAXPROCS: 8,
			CPUQuota: &quota, MemoryBytes: 8 << 30, Governor: "performance", Clocksource: "tsc", THP: "madvise",
			NUMABalancing: "1", BootID: "b1", CommandLine: "quiet", Topology: "0123456789ab", SMT: "on", Turbo: "on",
			Mitigations: "ba9876543210", ASLR: "2", MigrationCost: "500000", MemoryLimit: 1 << 30, Environment: "GOGC=off",
		},
	}
}

func TestDifferences(t *testing.T) {
	assert.Equal(t, []Difference{}, Differences(known(), known()))

	other := known()
	other.Tool.SHA256 = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
	other.Tool.Commit = ""
	other.Host.Kernel = "6.19.0"
	other.Host.CPUModel = ""
	other.Host.Hypervisor = false
	other.Host.CPUQuota = nil
	other.Host.MemoryLimit = 0
	other.Host.GOMAXPROCS = 0
	other.Host.Environment = ""
	want := []Difference{
		{"version", "v1.2.0 (20d9fd4)", "v1.2.0"},
		{"binary", "9f86d081884c", "2c26b46b68ff"},
		{"kernel", "6.18.0", "6.19.0"},
		{"cpu-model", "Example 1", "not known"},
		{"hypervisor", "yes", "no"},
		{"gomaxprocs", "8", "not known"},
		{"cpu-quota", "1.5 CPUs", "no limit"},
		{"memory-limit", "1073741824 bytes", "no limit"},
		{"environment", "GOGC=off", "no variables"},
	}
	assert.Equal(t, want, Differences(known(), other))
	for i := range want {
		want[i].A, want[i].B = want[i].B, want[i].A
	}
	assert.Equal(t, want, Differences(other, known()))
	assert.Empty(t, Differences(&Run{}, &Run{}), "what neither knows is no difference")

	other = known()
	other.Host.MigrationCost = ""
	assert.Empty(t, Differences(known(), other), "a setting that only root can read")
	assert.Empty(t, Differences(other, known()))
	other.Host.MigrationCost = "1"
	assert.Equal(t, []Difference{{What: "migration-cost", A: "500000", B: "1"}}, Differences(known(), other))
}

// Every field of the tool and the host is a condition, unless it does not affect time or follows from another.
func TestConditionsLeaveNothingOut(t *testing.T) {
	implied := map[string]bool{
		"Name": true, "OS": true, "MemoryBytes": true, // of the machine
		"Conditions":    true,                                                                               // of the other fields, in words
		"MigrationCost": true,                                                                               // which only root knows
		"CPUs":          true, "Online": true, "Cores": true, "LLCs": true, "Nodes": true, "Packages": true, // of the topology
	}
	for _, part := range []string{"Tool", "Host"} {
		fields := reflect.TypeOf(Run{}).FieldByNameFunc
		of, ok := fields(func(name string) bool { return name == part })
		require.True(t, ok)
		for i := range of.Type.NumField() {
			run := known()
			reflect.ValueOf(run).Elem().FieldByName(part).Field(i).SetZero()
			want := 1
			if implied[of.Type.Field(i).Name] {
				want = 0
			}
			assert.Len(t, Differences(known(), run), want, of.Type.Field(i).Name)
		}
	}
}

// Names can be given to a flag, joined by commas.
func TestConditions(t *testing.T) {
	names := Conditions()
	for i, name := range names {
		assert.Equal(t, strings.ToLower(name), name)
		assert.NotContains(t, name, " ")
		assert.Equal(t, i, slices.Index(names, name), "%s is there once", name)
	}
}

// Of several journals of a run, the one with the most samples counts, and among equals a complete one.
func TestOnce(t *testing.T) {
	of := func(samples int, partial bool, changes ...func(*Run)) *Run {
		r := known()
		r.Experiment, r.Started, r.Seed, r.Samples, r.Partial = "exec", "2026-01-02T03:04:05.6Z", 7, packed.Of(make([]Sample, samples)...), partial
		for _, change := range changes {
			change(r)
		}
		return r
	}
	for name, c := range map[string]struct {
		runs []*Run
		want []int
	}{
		"none":                {nil, []int{}},
		"several journals":    {[]*Run{of(2, false), of(2, false), of(2, false)}, []int{0, 0, 0}},
		"resumed":             {[]*Run{of(1, true), of(2, false), of(1, true)}, []int{1, 1, 1}},
		"a complete one":      {[]*Run{of(2, true), of(2, false)}, []int{1, 1}},
		"the first complete":  {[]*Run{of(2, false), of(2, true)}, []int{0, 0}},
		"another experiment":  {[]*Run{of(2, false), of(2, false, func(r *Run) { r.Experiment = "pair" })}, []int{0, 1}},
		"another host":        {[]*Run{of(2, false), of(2, false, func(r *Run) { r.Host.Hostname = "right" })}, []int{0, 1}},
		"another boot":        {[]*Run{of(2, false), of(2, false, func(r *Run) { r.Host.BootID = "b2" })}, []int{0, 1}},
		"another time":        {[]*Run{of(2, false), of(2, false, func(r *Run) { r.Started = "2026-01-02T03:04:05.7Z" })}, []int{0, 1}},
		"another seed":        {[]*Run{of(2, false), of(2, false, func(r *Run) { r.Seed = 8 })}, []int{0, 1}},
		"its cells' verdicts": {[]*Run{of(2, false), of(2, false, func(r *Run) { r.Findings = []Finding{{}} })}, []int{0, 0}},
	} {
		assert.Equal(t, c.want, Once(c.runs), name)
	}
}
