package topology

import (
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/sysfs"
)

// packageKey identifies a package. The number is not enough, because s390 numbers the sockets of each book from 0 and
// virtual machines report -1 everywhere; the siblings are not enough, because a few kernels omit them.
type packageKey struct {
	siblings *sharing
	id       int
}

// readPackages sets Package and Die.
func (r *reader) readPackages(online []*CPU) {
	var said []sharing
	ids := map[int]int{}
	for _, c := range online {
		if s, ok := r.readSharing(c.CPU, topologyDir(c.CPU), "package_cpus_list", "core_siblings_list"); ok {
			said = append(said, s)
		}
		if id, ok := r.readNumber(topologyDir(c.CPU) + "/physical_package_id"); ok {
			ids[c.CPU] = max(id, 0)
		}
		die, _ := r.readNumber(topologyDir(c.CPU) + "/die_id")
		c.Die = max(die, 0)
	}
	siblings := r.gather(said, false)
	keys := make([]packageKey, len(online))
	var known []packageKey
	var unplaced []*CPU
	for i, c := range online {
		keys[i].siblings = siblings[c.CPU]
		id, ok := ids[c.CPU]
		if s := keys[i].siblings; s != nil {
			known := lowestKnown(s.cpus, ids)
			if ok && id != known {
				err := sysfs.Malformed(topologyDir(c.CPU)+"/physical_package_id",
					"package %d, and the CPUs that %s has in one package are of %d", id, s.file, known)
				r.fault(err, "it is left out")
			}
			id, ok = known, true
		}
		keys[i].id = id
		if ok {
			known = append(known, keys[i])
		} else {
			unplaced = append(unplaced, c)
		}
	}
	if len(unplaced) > 0 && len(known) > 0 {
		lost := numbersOf(unplaced)
		for i, c := range online {
			if lost.Contains(c.CPU) {
				keys[i] = known[0]
			}
		}
		r.warn("no package is recorded for CPUs %s; they are taken to be in the first one", lost)
	}
	r.numberPackages(online, keys)
}

// numberPackages gives each package the kernel's number, or counts packages if the kernel gave two the same number.
func (r *reader) numberPackages(online []*CPU, keys []packageKey) {
	numbers := numberGroups(keys)
	kernels, repeated := map[int]int{}, false // gorun's number by the kernel's
	for i, key := range keys {
		n, ok := kernels[key.id]
		repeated = repeated || ok && n != numbers[i]
		kernels[key.id] = numbers[i]
	}
	if repeated {
		r.warn("physical_package_id: the kernel gives several packages the same number; they are counted from 0 instead")
	}
	for i, c := range online {
		if c.Package = keys[i].id; repeated {
			c.Package = numbers[i]
		}
	}
}

// lowestKnown returns the number of the lowest CPU that has one, else 0.
func lowestKnown(cpus cpuset.Set, numbers map[int]int) int {
	for cpu := range cpus.All() {
		if n, ok := numbers[cpu]; ok {
			return n
		}
	}
	return 0
}
