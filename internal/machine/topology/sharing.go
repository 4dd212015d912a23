package topology

import (
	"cmp"
	"slices"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/sysfs"
)

// sharing is the content of one file: online CPUs that share something.
type sharing struct {
	file  string
	cpus  cpuset.Set
	files int // with this content
}

// partition divides CPUs into disjoint groups according to the files of all CPUs. Each CPU has such a file and all
// files of a group should agree, so a CPU whose file is missing is found in the files of the others.
type partition map[int]*sharing // by CPU

// gather returns the groups that the files give. If groups overlap, the one whose files agree for a larger share of
// its CPUs wins, and the other file is ignored. With merge, two overlapping groups become one if the files of half of
// the CPUs agree, because some real kernels report them wrongly.
func (r *reader) gather(read []sharing, merge bool) partition {
	var groups []*sharing
	byFirst := map[int][]*sharing{} // by the lowest CPU
	for _, s := range read {
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
			r.fault(err, "overlapping caches count as one")
			for member := range g.cpus.All() {
				if other := p[member]; other != nil {
					g.cpus = g.cpus.Union(other.cpus)
				}
			}
		case err != nil:
			r.fault(err, "it is left out")
			continue
		}
		for member := range g.cpus.All() {
			p[member] = g
		}
	}
	return p
}

// contradicts returns an error if another group contains one of the CPUs.
func (p partition) contradicts(s *sharing) error {
	for member := range s.cpus.All() {
		if other := p[member]; other != nil {
			return sysfs.Malformed(s.file, "CPUs %s contradict the CPUs %s of %s",
				shortened(s.cpus), shortened(other.cpus), other.file)
		}
	}
	return nil
}

// numberGroups counts groups from 0 in the order of their lowest CPU; keys holds the group's key of each CPU, in
// ascending order of the CPUs.
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
