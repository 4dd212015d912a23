package named

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// overlaid is a machine with other files.
type overlaid struct {
	fs.FS
	files map[string]string
}

func (o overlaid) ReadFile(name string) ([]byte, error) {
	if text, has := o.files[name]; has {
		return []byte(text), nil
	}
	return fs.ReadFile(o.FS, name)
}

// interrupted reads a machine whose CPUs have had these interrupts in 1000 s.
func interrupted(t *testing.T, name string, counts ...int) *topology.Machine {
	t.Helper()
	header, line := "", " 25:"
	for cpu, count := range counts {
		header += fmt.Sprintf(" CPU%d", cpu)
		line += fmt.Sprintf(" %d", count)
	}
	m, err := topology.Read(overlaid{hosts.Root(t, name), map[string]string{
		"proc/interrupts": header + "\n" + line + " PCI-MSI eth0\n", "proc/uptime": "1000.00 900.00\n",
	}})
	require.NoError(t, err)
	return m
}

func TestChosenCPU(t *testing.T) {
	kinds := func(counts ...int) *topology.Machine { return interrupted(t, "arm-three-kinds", counts...) }
	had := []result.Cell{{Flags: map[string]string{"placement": "one-cpu"}, CPUs: map[string]result.CPUs{"cpus": {List: "2"}}}}
	for _, c := range []struct {
		what string
		m    *topology.Machine
		cpus string
		name string
		run  Scope // its seed, and the run that is continued
		want string
	}{
		{"the fastest is one", kinds(9, 9, 9, 9, 9, 9, 9, 1e9), "0-7", "one-cpu", Scope{}, "CPU 7: of the fastest kind"},
		{"a kind", kinds(9, 9, 9, 9, 1e9, 5000, 1e6, 0), "0-7", "one-cpu-kind-1", Scope{}, "CPU 5: fewest interrupts since boot"},
		{
			"the fastest of the run's", kinds(0, 0, 0, 0, 1e9, 5000, 9999, 0), "0-6", "one-cpu",
			Scope{},
			"CPU 5: of the fastest kind; fewest interrupts since boot; by the seed among 2",
		},
		{"up to one a second", kinds(1e5, 1000, 0, 700), "0-3", "one-cpu", Scope{}, "CPU 1: fewest interrupts since boot; by the seed among 3"},
		{"another seed", kinds(1e5, 1000, 0, 700), "0-3", "one-cpu", Scope{Seed: 1}, "CPU 2: fewest interrupts since boot; by the seed among 3"},
		{"alike", kinds(50, 1000, 0, 700), "0-3", "one-cpu", Scope{}, "CPU 2: by the seed among 4"},
		{"a CPU without counts", kinds(1e9, 0, 0), "0-3", "one-cpu", Scope{}, "CPU 2: interrupts are not known; by the seed among 4"},
		{"no counts", hosts.Machine(t, "qemu-cpu2"), "0-1", "one-cpu", Scope{}, "CPU 0: interrupts are not known; by the seed among 2"},
		{"one CPU", kinds(), "3", "one-cpu", Scope{}, "CPU 3: the only one"},
		{"the run is continued", kinds(0, 0, 1e9, 0), "0-3", "one-cpu", Scope{Recorded: had}, "CPU 2: as the run began"},
		{"with other CPUs", kinds(0, 1e9), "0-1", "one-cpu", Scope{Recorded: had}, "CPU 0: fewest interrupts since boot"},
		{"memory", hosts.Machine(t, "memoryless-node"), "all", "one-cpu", Scope{}, "CPU 0: nearest to memory; interrupts are not known; by the seed among 2"},
	} {
		cpus, err := c.m.Select(c.cpus, c.m.Allowed())
		require.NoError(t, err)
		g := on(c.m, cpuset.Of(cpus...))
		g.Seed, g.Recorded = c.run.Seed, c.run.Recorded
		p, err := g.Lookup(c.name)
		require.NoError(t, err)
		assert.Equal(t, c.name+" is "+c.want, p.Chosen, c.what)
	}
	_, err := on(kinds(), cpuset.Of(1)).Lookup("one-cpu-core-1")
	require.ErrorContains(t, err, `no placement "one-cpu-core-1"`)
	assert.Contains(t, hint.Of(err), "one-cpu-node-1")
	_, err = on(kinds(), cpuset.Of(1)).Lookup("one-cpu-kind-0")
	require.ErrorContains(t, err, "kind:0")
}

// Every seed chooses among the same equals, and each of them is chosen by one.
func TestSeedChoosesAmongEquals(t *testing.T) {
	m := hosts.Machine(t, "epyc-2p-nps4")
	chosen := cpuset.Set{}
	for seed := range uint64(1000) {
		g := on(m, m.Allowed())
		g.Seed = seed
		p, err := g.Lookup("one-cpu")
		require.NoError(t, err)
		chosen = chosen.Union(p.CPUs)
	}
	assert.Equal(t, m.Allowed(), chosen)
}

// The two kinds of performance cores are not alike, as two CPUs of one kind are.
func TestShapeHasKinds(t *testing.T) {
	m := hosts.Machine(t, "arm-three-kinds")
	g := on(m, m.Allowed())
	assert.NotEqual(t, g.shape(cpuset.Of(7)), g.shape(cpuset.Of(6)))
	assert.Equal(t, g.shape(cpuset.Of(5)), g.shape(cpuset.Of(6)))
}
