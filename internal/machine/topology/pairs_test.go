package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/kernel/cpuset"
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
		{cpuset.Range(0, 15), []CPUPair{{0, 0, SameCPU}, {0, 1, SameCore}, {0, 2, SameLLC}, {0, 4, SameNode}, {0, 8, CrossNode}}},
		{cpuset.Of(5, 12, 99), []CPUPair{{5, 5, SameCPU}, {-1, -1, SameCore}, {-1, -1, SameLLC}, {-1, -1, SameNode}, {5, 12, CrossNode}}},
		{cpuset.Of(3), []CPUPair{{3, 3, SameCPU}, {-1, -1, SameCore}, {-1, -1, SameLLC}, {-1, -1, SameNode}, {-1, -1, CrossNode}}},
		{cpuset.Of(99), []CPUPair{{-1, -1, SameCPU}, {-1, -1, SameCore}, {-1, -1, SameLLC}, {-1, -1, SameNode}, {-1, -1, CrossNode}}},
	} {
		pairs := m.PerRelation(c.cpus)
		assert.Equal(t, c.want, pairs, "%v", c.cpus)
		for _, p := range pairs {
			assert.Equal(t, p.A < 0, p.Unavailable() != "")
		}
	}
}
