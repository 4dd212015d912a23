package named

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
)

// listed formats placements, one per line.
func listed(placements []Placement) string {
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

// on returns a Scope of these CPUs, with all memory.
func on(m *topology.Machine, cpus cpuset.Set) Scope {
	return In(m, cpus, cpuset.Set{})
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
			placements := on(m, m.Allowed()).placements(nil)
			t.Log("\n" + listed(placements))
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
				setting := fmt.Sprint(p.Setting)
				assert.False(t, names[p.Name] || settings[setting], "%s twice", p.Name)
				names[p.Name], settings[setting] = true, true
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
		assert.Equal(t, want, listed(on(m, m.Allowed()).placements(nil)), name)
	}
}

func TestPlacementsWithinCPUsAndNodes(t *testing.T) {
	m := hosts.Machine(t, "qemu-numa2") // two nodes, each a package with an LLC, of two cores with two threads
	assert.Equal(t, `unbound [1-2,4]
one-cpu [1]
one-cpu-node-1 [4]
one-llc [1-2]
spread-nodes [1,4]
`, listed(In(m, cpuset.Of(1, 2, 4), cpuset.Of(0)).placements(nil)))
	assert.Equal(t, "unbound [5]\ninterleaved [5] interleave 0-1\nnode-remote [5] bind 0\n",
		listed(In(m, cpuset.Of(5), cpuset.Of(0, 1)).placements(nil)))
	assert.Equal(t, "unbound [5]\n", listed(In(m, cpuset.Of(5), cpuset.Of(0)).placements(nil)), "all memory is remote")
	assert.Empty(t, on(m, cpuset.Of(99)).placements(nil))
}

func TestPodsOfPlacements(t *testing.T) {
	m := hosts.Machine(t, "epyc-2p-nps4")
	pods := map[string]*Pod{}
	for _, p := range on(m, m.Allowed()).placements(nil) {
		pods[p.Name] = p.Pod
	}
	assert.Equal(t, &Pod{CPUs: 2, Needs: "the option full-pcpus-only"}, pods["smt-siblings"])
	assert.Equal(t, &Pod{CPUs: 1}, pods["one-cpu"])
	assert.Nil(t, pods["unbound"])
	assert.Nil(t, pods["interleaved"])
}

func TestLookupPlacement(t *testing.T) {
	m := hosts.Machine(t, "qemu-cpu2")
	for _, p := range on(m, m.Allowed()).placements(nil) {
		found, err := on(m, m.Allowed()).Lookup(p.Name)
		require.NoError(t, err)
		assert.Equal(t, p, found)
	}
	alike, err := on(m, m.Allowed()).Lookup("one-per-core")
	require.NoError(t, err)
	assert.True(t, alike.CPUs.Empty(), "it is what a command inherits")
	_, err = on(m, m.Allowed()).Lookup("node-remote")
	require.ErrorContains(t, err, "there is no node-remote here")
	assert.Equal(t, "there are unbound, one-cpu", hint.Of(err))
	_, err = on(m, cpuset.Set{}).Lookup("unbound")
	require.ErrorContains(t, err, "there is no unbound here")
}
