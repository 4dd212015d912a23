package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/cpuset"
)

func TestPerRelation(t *testing.T) {
	m := &Machine{} // two nodes of two LLCs of two cores of two threads
	for cpu := range 16 {
		m.CPUs = append(m.CPUs, CPU{CPU: cpu, Core: cpu / 2, LLC: cpu / 4, Node: cpu / 8, Online: true})
	}
	for _, c := range []struct {
		cpus cpuset.Set
		want []CPUPair
	}{
		{cpuset.Range(0, 15), []CPUPair{
			{A: 0, B: 0, Relation: SameCPU},
			{A: 0, B: 1, Relation: SameCore},
			{A: 0, B: 2, Relation: SameLLC},
			{A: 0, B: 4, Relation: SameNode},
			{A: 0, B: 8, Relation: CrossNode},
		}},
		{cpuset.Of(5, 12, 99), []CPUPair{
			{A: 5, B: 5, Relation: SameCPU},
			{A: 5, B: 12, Relation: CrossNode},
		}},
		{cpuset.Of(3), []CPUPair{{A: 3, B: 3, Relation: SameCPU}}},
		{cpuset.Of(99), nil},
	} {
		assert.Equal(t, c.want, m.PerRelation(c.cpus), "%v", c.cpus)
	}
}
