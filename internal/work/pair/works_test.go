package pair

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/base/catalog"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

func TestWorks(t *testing.T) {
	assert.Len(t, defaultLoops, len(Works))
	for _, name := range catalog.Names(Works) {
		assert.Positive(t, DefaultLoops(name, topology.SameCPU), name)
		assert.Positive(t, DefaultLoops(name, topology.CrossNode), name)
	}
	assert.Less(t, DefaultLoops("pingpong-shm", topology.SameCPU), DefaultLoops("pingpong-shm", topology.SameCore))
}

func TestRow(t *testing.T) {
	var rows []result.PairRow
	for _, p := range []topology.CPUPair{{}, {B: 1, Relation: topology.SameCore}, {A: -1, B: -1, Relation: topology.CrossNode}} {
		rows = append(rows, Row(p, "pingpong-shm", 0))
	}
	assert.Equal(t, []result.PairRow{
		{CPUA: 0, CPUB: 0, Relation: "same-cpu", Loops: 500},
		{CPUA: 0, CPUB: 1, Relation: "same-core", Loops: 500_000},
		{CPUA: -1, CPUB: -1, Relation: "cross-node", Unavailable: "the CPUs are of one node"},
	}, rows)
	assert.EqualValues(t, 7, Row(topology.CPUPair{}, "spin", 7).Loops)
}
