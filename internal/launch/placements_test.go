package launch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/tests/hosts"
	"gorun/internal/topology"
)

// table formats placements, one per line.
func table(placements []Placement) string {
	var b strings.Builder
	for _, p := range placements {
		fmt.Fprintf(&b, "%s [%v]", p.Name, p.CPUs)
		if !p.Nodes.Empty() {
			fmt.Fprintf(&b, " %v %v", p.Mempolicy, p.Nodes)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// ofMachine returns the placements, which can be had.
func ofMachine(t *testing.T, m *topology.Machine, cpus, mems cpuset.Set, device string) []Placement {
	t.Helper()
	placements, err := Placements(m, cpus, mems, device, Choice{})
	require.NoError(t, err)
	return placements
}

func TestPlacementsOfEveryRecordedMachine(t *testing.T) {
	for name, m := range hosts.All(t) {
		t.Run(name, func(t *testing.T) {
			memory := cpuset.Set{}
			for _, n := range m.Nodes {
				if n.MemoryBytes == nil || *n.MemoryBytes > 0 {
					memory = memory.With(n.Node)
				}
			}
			placements := ofMachine(t, m, m.Allowed(), cpuset.Set{}, "")
			t.Log("\n" + table(placements))
			for _, p := range placements {
				if p.Chosen != "" {
					t.Log(p.Chosen)
				}
			}
			require.NotEmpty(t, placements)
			assert.Equal(t, "unbound", placements[0].Name)
			assert.LessOrEqual(t, len(placements), 12+2)
			names, settings := map[string]bool{}, map[string]bool{}
			for _, p := range placements {
				assert.True(t, p.CPUs.Minus(m.Allowed()).Empty(), "%s: %v", p.Name, p.CPUs)
				assert.True(t, p.Nodes.Minus(memory).Empty(), "%s: %v", p.Name, p.Nodes)
				assert.Equal(t, p.Mempolicy == linux.MempolicyDefault, p.Nodes.Empty())
				assert.NotEmpty(t, p.Words)
				setting := fmt.Sprint(p.Setting())
				assert.False(t, names[p.Name] || settings[setting], "%s twice", p.Name)
				names[p.Name], settings[setting] = true, true
				if lines := p.Setting().Lines(); p.Name != "unbound" {
					assert.NotEmpty(t, lines.Numactl)
					assert.NotEmpty(t, lines.Systemd)
				}
			}
		})
	}
}

func TestPlacementsOf(t *testing.T) {
	for name, want := range map[string]string{
		"qemu-cpu1": `unbound []
`,
		"qemu-cpu2": `unbound []
one-cpu [0]
`,
		"hybrid": `unbound []
one-cpu [2]
one-cpu-kind-1 [6]
one-cpu-llc-1 [8]
smt-siblings [0-1]
one-per-core [0,2,4-9]
one-llc [0-7]
pcores [0-3]
ecores [4-9]
`,
		"epyc-2p-nps4": `unbound []
one-cpu [10]
smt-siblings [0,32]
one-per-core [0-31]
one-llc [0-1,32-33]
one-node [0-3,32-35]
spread-nodes [0,4,8,12,16,20,24,28]
interleaved [] interleave 0-7
node-interleaved [0-3,32-35] interleave 0-7
node-remote [0-3,32-35] bind 7
`,
		"arm-three-kinds": `unbound []
one-cpu [7]
one-cpu-kind-1 [4]
one-cpu-kind-2 [2]
pcores [4-7]
ecores [0-3]
`,
		"memoryless-node": `unbound []
one-cpu [0]
one-cpu-node-1 [2]
one-llc [0-1]
spread-nodes [0,2]
`,
		"cxl-memory": `unbound []
one-cpu [2]
smt-siblings [0-1]
one-per-core [0,2]
interleaved [] interleave 0,2
node-remote [] bind 2
`,
	} {
		m := hosts.Machine(t, name)
		assert.Equal(t, want, table(ofMachine(t, m, m.Allowed(), cpuset.Set{}, "")), name)
	}
}

func TestPlacementsWithinCPUsAndNodes(t *testing.T) {
	m := hosts.Machine(t, "qemu-numa2") // two nodes, each a package with an LLC, of two cores with two threads
	assert.Equal(t, `unbound [1-2,4]
one-cpu [1]
one-cpu-node-1 [4]
one-llc [1-2]
spread-nodes [1,4]
`, table(ofMachine(t, m, cpuset.Of(1, 2, 4), cpuset.Of(0), "")))
	assert.Equal(t, "unbound [5]\ninterleaved [5] interleave 0-1\nnode-remote [5] bind 0\n",
		table(ofMachine(t, m, cpuset.Of(5), cpuset.Of(0, 1), "")))
	assert.Equal(t, "unbound [5]\n", table(ofMachine(t, m, cpuset.Of(5), cpuset.Of(0), "")), "all memory is remote")
	assert.Empty(t, ofMachine(t, m, cpuset.Of(99), cpuset.Set{}, ""))
}

func TestKubernetes(t *testing.T) {
	m := hosts.Machine(t, "epyc-2p-nps4")
	hints := map[string]string{}
	for _, p := range ofMachine(t, m, m.Allowed(), cpuset.Set{}, "") {
		hints[p.Name] = p.Kubernetes
	}
	const guaranteed = "in requests and limits alike (a Guaranteed pod), the kubelet's cpuManagerPolicy: static"
	assert.Equal(t, "cpu: 2 "+guaranteed+" with the option full-pcpus-only", hints["smt-siblings"])
	assert.Equal(t, "cpu: 1 "+guaranteed, hints["one-cpu"])
	assert.Empty(t, hints["unbound"])
	assert.Empty(t, hints["interleaved"])
}

func TestLookupPlacement(t *testing.T) {
	m := hosts.Machine(t, "qemu-cpu2")
	for _, p := range ofMachine(t, m, m.Allowed(), cpuset.Set{}, "") {
		found, err := LookupPlacement(m, m.Allowed(), cpuset.Set{}, p.Name, Choice{})
		require.NoError(t, err)
		assert.Equal(t, p, found)
	}
	alike, err := LookupPlacement(m, m.Allowed(), cpuset.Set{}, "one-per-core", Choice{})
	require.NoError(t, err)
	assert.True(t, alike.Setting().CPUs.Empty(), "it is what a command inherits")
	_, err = LookupPlacement(m, m.Allowed(), cpuset.Set{}, "node-remote", Choice{})
	require.ErrorContains(t, err, "there is no node-remote here")
	assert.Equal(t, "there are unbound, one-cpu", hint.Of(err))
	_, err = LookupPlacement(m, m.Allowed(), cpuset.Set{}, "everywhere", Choice{})
	require.ErrorContains(t, err, `no placement "everywhere"`)
	_, err = LookupPlacement(m, cpuset.Set{}, cpuset.Set{}, "unbound", Choice{})
	require.ErrorContains(t, err, "there is no unbound here")
	assert.Len(t, PlacementUsages(), len(PlacementNames()))
}
