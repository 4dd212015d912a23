package topology

import (
	"gorun/internal/cpuset"
	"gorun/internal/sysfs"
)

// topologyDir holds a CPU's position: Documentation/ABI/stable/sysfs-devices-system-cpu. An offline CPU has none.
func topologyDir(cpu int) string { return cpuFile(cpu, "topology") }

// coreKey identifies a core: by the threads that share it or, if those are not recorded, by its number, which is
// unique only within its cluster, die and package. A CPU with neither counts as a core of its own.
type coreKey struct {
	threads                *sharing
	pkg, die, cluster, num int
	alone                  int // CPU + 1
}

// readCores sets Core. Package and Die must be set.
func (r *reader) readCores(online []*CPU) {
	var said []sharing
	nums := map[int]int{} // the kernel's, where it has one
	for _, c := range online {
		if s, ok := r.readSharing(c.CPU, topologyDir(c.CPU), "core_cpus_list", "thread_siblings_list"); ok {
			said = append(said, s)
		}
		if num, ok := r.readNumber(topologyDir(c.CPU) + "/core_id"); ok && num >= 0 {
			nums[c.CPU] = num
		}
	}
	threads := r.gather(said, false)
	keys := make([]coreKey, len(online))
	var alone []*CPU
	for i, c := range online {
		num, ok := nums[c.CPU]
		switch s := threads[c.CPU]; {
		case s != nil && areCores(s.cpus, nums):
			r.fault(sysfs.Malformed(s.file, "the CPUs %s have a core_id each", shortened(s.cpus)), "each is taken for a core")
			keys[i] = coreKey{threads: s, num: num}
		case s != nil:
			keys[i] = coreKey{threads: s}
		case ok:
			cluster, _ := r.readNumber(topologyDir(c.CPU) + "/cluster_id")
			keys[i] = coreKey{pkg: c.Package, die: c.Die, cluster: cluster, num: num}
		default:
			keys[i] = coreKey{alone: c.CPU + 1}
			alone = append(alone, c)
		}
	}
	if len(alone) > 0 {
		r.warn("no core is recorded for CPUs %s; each counts as a separate core", numbersOf(alone))
	}
	for i, n := range numberGroups(keys) {
		online[i].Core = n
	}
}

// areCores reports whether the CPUs that the kernel lists as the threads of one core have different core numbers.
// They do on AMD's family 15h, where the two cores of a module share more than a cache, and old kernels list them as
// siblings.
func areCores(threads cpuset.Set, nums map[int]int) bool {
	seen := map[int]bool{}
	for cpu := range threads.All() {
		num, ok := nums[cpu]
		if !ok || seen[num] {
			return false
		}
		seen[num] = true
	}
	return len(seen) > 1
}

// pmuClasses are the files with the classes of a hybrid x86 machine: the CPUs of the event counters of each kind
// (arch/x86/events/intel/core.c).
var pmuClasses = []struct{ file, class string }{
	{"sys/devices/cpu_core/cpus", Performance},
	{"sys/devices/cpu_atom/cpus", Efficiency},
	{"sys/devices/cpu_lowpower/cpus", Efficiency},
}

// readClasses sets Class.
func (r *reader) readClasses(online []*CPU) {
	for _, kind := range pmuClasses {
		cpus := r.readOptionalSet(kind.file)
		for _, c := range online {
			if cpus.Contains(c.CPU) {
				c.Class = kind.class
			}
		}
	}
	classed := func(c *CPU) bool { return c.Class != "" }
	if len(without(online, classed)) == len(online) {
		r.readCapacities(online)
	}
}

// readCapacities sets Class from cpu_capacity (arm64, riscv, hybrid x86 in a virtual machine), which is 1024 for the
// fastest CPU. The lowest capacity is the efficiency class if it is below four fifths of the highest: the capacities
// of equal cores differ by less, because the best ones may clock higher.
func (r *reader) readCapacities(online []*CPU) {
	capacities := make([]int, len(online))
	for i, c := range online {
		n, ok := r.readNumber(cpuFile(c.CPU, "cpu_capacity"))
		if !ok {
			return
		}
		capacities[i] = n
	}
	least, greatest := capacities[0], capacities[0]
	for _, n := range capacities {
		least, greatest = min(least, n), max(greatest, n)
	}
	if least < 0 || least >= greatest-greatest/5 {
		return
	}
	for i, c := range online {
		c.Class = Performance
		if capacities[i] == least {
			c.Class = Efficiency
		}
	}
}
