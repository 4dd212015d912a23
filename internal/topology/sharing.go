package topology

import (
	"gorun/internal/cpuset"
	"gorun/internal/sysfs"
)

// sharing is what one file says: these online CPUs share something.
type sharing struct {
	file string
	cpus cpuset.Set
}

// partition gathers what the files of all CPUs say into disjoint groups. Each CPU has such a file of its own and all
// files of a group should agree, so a CPU whose file is missing is known from the others'.
type partition map[int]*sharing // by CPU

// add takes what the file of one CPU says. It is an error that the CPU is not among its own sharers, or that they
// overlap a group and are not that group.
func (p partition) add(cpu int, s sharing) error {
	if !s.cpus.Contains(cpu) {
		return sysfs.Malformed(s.file, "CPU %d is not among the CPUs %q that share with it", cpu, s.cpus)
	}
	if known := p[cpu]; known != nil && known.cpus.Equal(s.cpus) {
		return nil
	}
	for member := range s.cpus.All() {
		if other := p[member]; other != nil {
			return sysfs.Malformed(s.file, "CPUs %s contradict the CPUs %s of %s", s.cpus, other.cpus, other.file)
		}
	}
	p.put(s)
	return nil
}

// merge is add for what real kernels do get wrong: groups that overlap become one. It tells whether any did.
func (p partition) merge(cpu int, s sharing) (merged bool, err error) {
	if s.cpus.Contains(cpu) && p.add(cpu, s) != nil {
		for member := range s.cpus.All() {
			if other := p[member]; other != nil {
				s.cpus = s.cpus.Union(other.cpus)
			}
		}
		p.put(s)
		return true, nil
	}
	return false, p.add(cpu, s)
}

func (p partition) put(s sharing) {
	for member := range s.cpus.All() {
		p[member] = &s
	}
}

// number counts groups from 0 in the order of their lowest CPU, given the key of each CPU's group, in ascending order.
func number[K comparable](keys []K) []int {
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
