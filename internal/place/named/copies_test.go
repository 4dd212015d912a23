package named

import (
	"fmt"
	"strings"
	"testing"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The placements of copies on a machine with two threads a core and two nodes, and on one with two kinds of cores.
func TestPlacementsOfCopies(t *testing.T) {
	for _, c := range []struct {
		host string
		n    int
		want string
	}{
		{"qemu-numa2", 2, `same-cpu: copies 0-1 on CPU 0
same-core: copy 0 on CPU 0, copy 1 on CPU 1
same-llc: copy 0 on CPU 0, copy 1 on CPU 2
cross-node: copy 0 on CPU 0, copy 1 on CPU 4`},
		{"qemu-numa2", 4, `packed: copy 0 on CPU 0, copy 1 on CPU 1, copy 2 on CPU 2, copy 3 on CPU 3
one-per-core: copy 0 on CPUs 0-1, copy 1 on CPUs 2-3, copy 2 on CPUs 4-5, copy 3 on CPUs 6-7
spread-caches: copies 0,2 on CPUs 0-3, copies 1,3 on CPUs 4-7`},
		{"qemu-numa2", 9, `packed: copies 0,8 on CPU 0, copy 1 on CPU 1, copy 2 on CPU 2, copy 3 on CPU 3, copy 4 on CPU 4, copy 5 on CPU 5, copy 6 on CPU 6, copy 7 on CPU 7
spread-caches: copies 0,2,4,6,8 on CPUs 0-3, copies 1,3,5,7 on CPUs 4-7`},
		{"qemu-cpu1", 4, "packed: copies 0-3 on CPU 0"},
	} {
		t.Run(fmt.Sprint(c.host, " ", c.n), func(t *testing.T) {
			m := hosts.Machine(t, c.host)
			placements := on(m, m.Allowed()).AllOfCopies(c.n)
			assert.Equal(t, "unbound", placements[0].Name)
			var lines []string
			for _, p := range placements[1:] {
				lines = append(lines, p.Chosen)
			}
			assert.Equal(t, c.want, strings.Join(lines, "\n"))
		})
	}
}

func TestPlacementsOfCopiesOfEveryRecordedMachine(t *testing.T) {
	for name, m := range hosts.All(t) {
		for _, n := range []int{1, 2, 3, 16} {
			places := map[string]bool{}
			for _, p := range on(m, m.Allowed()).AllOfCopies(n)[1:] {
				require.Len(t, p.Masks, n, "%s: %s", name, p.Name)
				for _, mask := range p.Masks {
					assert.False(t, mask.Empty())
					assert.True(t, mask.Minus(m.Allowed()).Empty(), "%s: %s has CPUs %v", name, p.Name, mask)
				}
				assert.False(t, places[p.place], "%s: %s is there already", name, p.Name)
				places[p.place] = true
				if p.Name == "one-per-core" {
					for i, mask := range p.Masks {
						assert.False(t, i > 0 && !mask.Intersect(p.Masks[i-1]).Empty(), "%s: two copies share a core", name)
					}
				}
			}
		}
	}
}

// What is left out is counted in copies, not in groups of them.
func TestCopiesOnManyCPUs(t *testing.T) {
	var masks []cpuset.Set
	for cpu := range 10 {
		masks = append(masks, cpuset.Of(cpu))
	}
	assert.Regexp(t, `copies 7,17 on CPU 7, and 4 more$`, CopiesOn(inTurn(masks, 20)))
}
