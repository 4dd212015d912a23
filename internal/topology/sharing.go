package topology

import (
	"cmp"
	"slices"

	"gorun/internal/cpuset"
	"gorun/internal/sysfs"
)

// sharing is what one file says: these online CPUs share something.
type sharing struct {
	file  string
	cpus  cpuset.Set
	files int // that say the same
}

// partition gathers what the files of all CPUs say into disjoint groups. Each CPU has such a file of its own and all
// files of a group should agree, so a CPU whose file is missing is known from the others'.
type partition map[int]*sharing // by CPU

// gather returns the groups that files say. Where they contradict each other, the group counts of which the files of
// more of its CPUs agree, and the other file is left out; but merge makes one group of two, if the files of half of the
// CPUs agree, for that real kernels get wrong.
func (r *reader) gather(said []sharing, merge bool) partition {
	var groups []*sharing
	byFirst := map[int][]*sharing{} // by the lowest CPU
	for _, s := range said {
		first := s.cpus.First()
		i := slices.IndexFunc(byFirst[first], func(g *sharing) bool { return g.cpus.Equal(s.cpus) })
		if i < 0 {
			i = len(byFirst[first])
			byFirst[first] = append(byFirst[first], &s)
			groups = append(groups, &s)
		}
		byFirst[first][i].files++
	}
	slices.SortStableFunc(groups, func(a, b *sharing) int { // by the share of their CPUs that agree
		return cmp.Compare(b.files*a.cpus.Len(), a.files*b.cpus.Len())
	})
	p := partition{}
	for _, g := range groups {
		err := p.contradicts(g)
		switch {
		case err != nil && merge && 2*g.files >= g.cpus.Len():
			r.fault(err, "caches that overlap are taken for one")
			for member := range g.cpus.All() {
				if other := p[member]; other != nil {
					g.cpus = g.cpus.Union(other.cpus)
				}
			}
		case err != nil:
			r.fault(err, "it is left out")
			continue
		}
		p.put(g)
	}
	return p
}

// contradicts returns an error where another group has one of the CPUs.
func (p partition) contradicts(s *sharing) error {
	for member := range s.cpus.All() {
		if other := p[member]; other != nil {
			return sysfs.Malformed(s.file, "CPUs %s contradict the CPUs %s of %s",
				shortened(s.cpus), shortened(other.cpus), other.file)
		}
	}
	return nil
}

func (p partition) put(s *sharing) {
	for member := range s.cpus.All() {
		p[member] = s
	}
}

// numberGroups counts groups from 0 in the order of their lowest CPU, given the key of each CPU's group, in ascending order.
func numberGroups[K comparable](keys []K) []int {
	numbers, seen := make([]int, len(keys)), map[K]int{}
	for i, key := range keys {
		n, ok := seen[key]
		if !ok {
			n = len(seen)
			seen[key] = n
		}
		numbers[i] = n
	}
	return numbers
}
