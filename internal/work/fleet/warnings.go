package fleet

import (
	"fmt"
	"maps"
	"slices"

	"gorun/internal/kernel/cpuset"
)

// boots are the CPUs that each node has in a boot of a machine: by boot, by node.
type boots map[string]map[string]cpuset.Set

func (b boots) add(node, boot string, cpus cpuset.Set) {
	if boot == "" {
		return
	}
	if b[boot] == nil {
		b[boot] = map[string]cpuset.Set{}
	}
	b[boot][node] = b[boot][node].Union(cpus)
}

// warnings names the nodes that have a boot and CPUs in common. None of them is silenced, and they are not joined: anyone can copy what
// another node reports.
func (b boots) warnings() (all []string) {
	for _, boot := range slices.Sorted(maps.Keys(b)) {
		var taken, shared cpuset.Set
		for _, of := range b[boot] {
			shared = shared.Union(taken.Intersect(of))
			taken = taken.Union(of)
		}
		nodes := slices.Sorted(maps.Keys(b[boot]))
		nodes = slices.DeleteFunc(nodes, func(node string) bool { return shared.Intersect(b[boot][node]).Empty() })
		if len(nodes) > 0 {
			all = append(all, fmt.Sprintf("%s report the same boot of one machine and the same CPUs: the machine has several names, and is "+
				"compared with itself, or one of them reports what is another's", named(nodes)))
		}
	}
	return all
}

// warn warns of nodes that are not as the others say.
func (j *judge) warn(visits []visit) {
	seen := boots{}
	for i := range visits {
		seen.add(visits[i].node, visits[i].on.host.BootID, visits[i].on.cpus)
	}
	j.doc.Warnings = append(j.doc.Warnings, seen.warnings()...)
	var unexpected []string
	for _, name := range slices.Sorted(maps.Keys(j.nodes)) {
		if j.nodes[name].unexpected {
			unexpected = append(unexpected, name)
		}
	}
	if len(unexpected) > 0 {
		j.doc.Warnings = append(j.doc.Warnings, fmt.Sprintf("not in --expect, and so not judged: %s", named(unexpected)))
		if forms := otherForms(j.silent(), unexpected); len(forms) > 0 {
			j.doc.Warnings = append(j.doc.Warnings, "--expect seems to have other forms of these names: "+named(forms)+
				". Give the names that the folders of the visits have")
		}
	}
}

// silent returns the expected nodes that never reported.
func (j *judge) silent() (names []string) {
	for _, name := range j.Expect {
		if n := j.nodes[name]; n == nil || n.visits == 0 {
			names = append(names, name)
		}
	}
	return names
}
