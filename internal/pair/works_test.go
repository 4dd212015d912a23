package pair

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/catalog"
	"gorun/internal/cpuset"
	"gorun/internal/result"
	"gorun/internal/topology"
)

func TestWorks(t *testing.T) {
	assert.Len(t, defaultLoops, len(Works))
	for _, name := range catalog.Names(Works) {
		assert.Positive(t, DefaultLoops(name, topology.SameCPU), name)
		assert.Positive(t, DefaultLoops(name, topology.CrossNode), name)
	}
	assert.Less(t, DefaultLoops("pingpong-shm", topology.SameCPU), DefaultLoops("pingpong-shm", topology.SameCore))
}

func TestAutoRows(t *testing.T) {
	rows := AutoRows(machine(2), cpuset.Of(0, 1, 4), "pingpong-shm", 0)
	assert.Equal(t, []result.PairRow{
		{CPUA: 0, CPUB: 0, Relation: "same-cpu", Loops: 500},
		{CPUA: 0, CPUB: 1, Relation: "same-core", Loops: 500_000},
		{CPUA: -1, CPUB: -1, Relation: "same-llc", Lacking: "no last-level cache has two cores of the CPUs"},
		{CPUA: 0, CPUB: 4, Relation: "same-node", Loops: 500_000},
		{CPUA: -1, CPUB: -1, Relation: "cross-node", Lacking: "the CPUs are of one node"},
	}, rows)
	w, some := LackingWarning(rows)
	assert.True(t, some)
	assert.Equal(t, "no two CPUs of the run are same-llc (no last-level cache has two cores of the CPUs), "+
		"cross-node (the CPUs are of one node)", w.Message)
	assert.Empty(t, w.Hint, "nothing on this machine helps")

	rows = AutoRows(machine(2), cpuset.Range(0, 15), "spin", 7)
	for _, row := range rows {
		assert.EqualValues(t, 7, row.Loops)
	}
	_, some = LackingWarning(rows)
	assert.False(t, some)

	w, some = LackingWarning(AutoRows(machine(2), cpuset.Of(3), "spin", 7))
	assert.True(t, some)
	assert.Contains(t, w.Message, "same-core, same-llc, same-node, cross-node need two or more")
	assert.NotEmpty(t, w.Hint)
}
