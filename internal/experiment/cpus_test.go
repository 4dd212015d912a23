package experiment_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

func TestDescribeCPUs(t *testing.T) {
	for _, c := range []struct {
		host           string
		list           []int
		text, relation string
	}{
		{"qemu-numa2", []int{3}, "3", "1 CPU"},
		{"qemu-numa2", []int{0, 0}, "0,0", "1 CPU"},
		{"qemu-numa2", []int{2, 0}, "2,0", "same-llc"},
		{"epyc-2p-nps4", []int{0, 32}, "0,32", "same-core"},
		{"qemu-numa2", []int{0, 1, 2, 3, 4, 5, 6, 7}, "0-7", "8 CPUs, 4 cores, 2 LLCs, 2 nodes"},
		{"epyc-2p-nps4", []int{0, 2, 32}, "0,2,32", "3 CPUs, 2 cores, 2 LLCs, 1 node"},
		{"qemu-numa2", []int{2, 3, 99}, "2-3,99", "3 CPUs, 1 core, 1 LLC, 1 node"},
	} {
		want := result.CPUs{List: c.text, Count: cpuset.Of(c.list...).Len(), Relation: c.relation}
		assert.Equal(t, want, experiment.DescribeCPUs(hosts.Machine(t, c.host), c.list))
	}
}

func TestLackingPairs(t *testing.T) {
	m := hosts.Machine(t, "qemu-numa2")
	warned := func(cpus ...int) result.Warning {
		warnings := experiment.UnavailablePairs(m.PerRelation(cpuset.Of(cpus...)))
		require.Len(t, warnings, 1)
		return warnings[0]
	}
	w := warned(0, 1, 4)
	assert.Equal(t, "no-pair", w.Code)
	assert.Equal(t, "no two CPUs of the run are same-llc (no last-level cache has two cores of the CPUs), same-node (no node has two "+
		"last-level caches of the CPUs)", w.Message)
	assert.Empty(t, w.Hint, "nothing on this machine helps")
	w = warned(3)
	assert.Contains(t, w.Message, "same-core, same-llc, same-node, cross-node need two or more")
	assert.NotEmpty(t, w.Hint)
	assert.Empty(t, experiment.UnavailablePairs([]topology.CPUPair{{A: 0, B: 1, Relation: topology.SameCore}}))
}
