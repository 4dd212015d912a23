package topology

import (
	"cmp"
	"slices"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/sysfs"
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

// pmus have the CPUs of each kind of a hybrid x86 machine, by their event counters, the fastest kind first
// (arch/x86/events/intel/core.c).
var pmus = [...]struct{ file, class string }{
	{"sys/devices/cpu_core/cpus", Performance},
	{"sys/devices/cpu_atom/cpus", Efficiency},
	{"sys/devices/cpu_lowpower/cpus", Efficiency},
}

// speeds are files of a CPU with a number that is greater for a faster one: its capacity, which is 1024 for the fastest
// (Documentation/scheduler/sched-capacity.rst), and its highest frequency in kHz. A kernel that does not know the
// capacities may write 1024 for all.
var speeds = [...]string{"cpu_capacity", "cpufreq/cpuinfo_max_freq"}

// readClasses sets Kind and Class. CPUs are of different kinds if they have different event counters, or if their speeds
// have a gap of more than a tenth between them. The speeds of equal cores are closer together than that, because only the
// best ones clock a little higher.
func (r *reader) readClasses(online []*CPU) {
	counters := map[int]int{} // index of pmus
	for i, pmu := range pmus {
		cpus := r.readOptionalSet(pmu.file)
		for _, c := range online {
			if cpus.Contains(c.CPU) {
				counters[c.CPU], c.Class = i, pmu.class
			}
		}
	}
	for _, file := range speeds {
		speed := r.readSpeeds(online, file)
		order := slices.SortedFunc(slices.Values(online), func(a, b *CPU) int {
			return cmp.Or(counters[a.CPU]-counters[b.CPU], speed[b.CPU]-speed[a.CPU])
		})
		kind, gap := 0, false
		for i, c := range order {
			if i > 0 {
				last := order[i-1].CPU
				slower := counters[c.CPU] == counters[last] && speed[c.CPU] < speed[last]-speed[last]/10
				if slower || counters[c.CPU] != counters[last] {
					kind++
				}
				gap = gap || slower
			}
			c.Kind = kind
		}
		if gap {
			break
		}
	}
	if len(counters) == 0 {
		classByKind(online)
	}
}

// readSpeeds reads one of the files in speeds of every CPU; nil if one has none.
func (r *reader) readSpeeds(online []*CPU, file string) map[int]int {
	speed := map[int]int{}
	for _, c := range online {
		n, ok := r.readNumber(cpuFile(c.CPU, file))
		if !ok || n < 0 {
			return nil
		}
		speed[c.CPU] = n
	}
	return speed
}

// classByKind sets Class where no counters have it: the slowest of several kinds are the efficiency cores.
func classByKind(online []*CPU) {
	slowest := 0
	for _, c := range online {
		slowest = max(slowest, c.Kind)
	}
	for _, c := range online {
		switch {
		case slowest == 0:
		case c.Kind == slowest:
			c.Class = Efficiency
		default:
			c.Class = Performance
		}
	}
}
