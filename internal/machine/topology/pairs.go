package topology

import (
	"slices"

	"gorun/internal/kernel/cpuset"
)

// CPUPair is two CPUs with their relation. In a Pairing, A is the lower one.
type CPUPair struct {
	A, B     int
	Relation Relation
}

// Pairing is a way to choose pairs of CPUs.
type Pairing struct {
	Name  string
	Usage string
	// choose returns CPUs in ascending order, where any two are a pair, and additional pairs. Together, the pairs
	// have every relation that two of the given CPUs have.
	choose func(m *Machine, cpus cpuset.Set) (each []int, others [][2]int)
}

// Entry implements catalog.Entry.
func (p Pairing) Entry() (name, usage string) { return p.Name, p.Usage }

// PerLLC gives the fewest pairs.
var PerLLC = Pairing{
	"per-llc", "any two LLCs, by their lowest CPUs, two cores of each LLC, and two threads of one core", perLLC,
}

// Pairings lists all ways, the one with the most pairs first.
var Pairings = [...]Pairing{
	{"all", "any two CPUs", func(m *Machine, cpus cpuset.Set) ([]int, [][2]int) {
		return lowestTwo(m, cpus, func(c CPU) int { return c.CPU })
	}},
	{"per-core", "any two cores, by their lowest CPUs, and two threads of each core", perCore},
	PerLLC,
}

func perCore(m *Machine, cpus cpuset.Set) ([]int, [][2]int) {
	return lowestTwo(m, cpus, func(c CPU) int { return c.Core })
}

func perLLC(m *Machine, cpus cpuset.Set) ([]int, [][2]int) {
	cores, siblings := perCore(m, cpus)
	type place struct{ node, llc int } // an LLC may span nodes (sub-NUMA clustering)
	each, others := lowestTwo(m, cpuset.Of(cores...), func(c CPU) place { return place{c.Node, c.LLC} })
	return each, append(others, siblings[:min(1, len(siblings))]...)
}

// lowestTwo groups CPUs by key. It returns the lowest CPU of each group, and the two lowest of each group with
// several.
func lowestTwo[K comparable](m *Machine, cpus cpuset.Set, key func(CPU) K) ([]int, [][2]int) {
	var lowest []int
	var pairs [][2]int
	met := map[K][]int{} // at most two
	for _, c := range m.CPUs {
		if !c.Online || !cpus.Contains(c.CPU) {
			continue
		}
		k := key(c)
		switch same := met[k]; len(same) {
		case 0:
			met[k] = []int{c.CPU}
			lowest = append(lowest, c.CPU)
		case 1:
			met[k] = append(same, c.CPU)
			pairs = append(pairs, [2]int{same[0], c.CPU})
		}
	}
	return lowest, pairs
}

// Count returns the number of pairs without listing them: a machine with 8192 CPUs has 33 million.
func (p Pairing) Count(m *Machine, cpus cpuset.Set) int {
	each, others := p.choose(m, cpus)
	return len(each)*(len(each)-1)/2 + len(others)
}

// Pairs returns the pairs of online CPUs.
func (p Pairing) Pairs(m *Machine, cpus cpuset.Set) []CPUPair {
	each, others := p.choose(m, cpus)
	pairs := make([]CPUPair, 0, len(each)*(len(each)-1)/2+len(others))
	add := func(a, b int) { pairs = append(pairs, CPUPair{a, b, m.Relation(a, b)}) }
	for i, a := range each {
		for _, b := range each[i+1:] {
			add(a, b)
		}
	}
	for _, pair := range others {
		add(pair[0], pair[1])
	}
	return pairs
}

// PerRelation returns a pair of the CPUs for each relation, nearest first, beginning with a CPU and itself. Where no two of the CPUs
// have the relation, A and B are -1.
func (m *Machine) PerRelation(cpus cpuset.Set) []CPUPair {
	ours := cpus.Intersect(m.Online())
	var found []CPUPair
	if !ours.Empty() {
		found = append(PerLLC.Pairs(m, ours), CPUPair{ours.First(), ours.First(), SameCPU}) // these include every relation
	}
	pairs := make([]CPUPair, len(Relations))
	for i, relation := range Relations {
		pairs[i] = CPUPair{-1, -1, relation}
		if n := slices.IndexFunc(found, func(p CPUPair) bool { return p.Relation == relation }); n >= 0 {
			pairs[i] = found[n]
		}
	}
	return pairs
}

// Unavailable returns why no two CPUs have the relation of the pair; "" where two have it.
func (p CPUPair) Unavailable() string {
	if p.A >= 0 {
		return ""
	}
	return p.Relation.Unavailable()
}
