package topology

// topologyDir holds a CPU's place: Documentation/ABI/stable/sysfs-devices-system-cpu. An offline CPU has none.
func topologyDir(cpu int) string { return cpuFile(cpu, "topology") }

// coreKey tells cores apart: by the threads that share one or, where those are not recorded, by its number, which is
// unique only within its cluster, die and package. A CPU of which neither is known is a core of its own.
type coreKey struct {
	threads                *sharing
	pkg, die, cluster, num int
	alone                  int // CPU + 1
}

// readCores sets Core. Package and Die must be set.
func (r *reader) readCores(online []*CPU) error {
	threads := partition{}
	for _, c := range online {
		s, ok, err := r.readSharing(topologyDir(c.CPU), "core_cpus_list", "thread_siblings_list")
		if ok {
			err = threads.add(c.CPU, s)
		}
		if err != nil {
			return err
		}
	}
	keys := make([]coreKey, len(online))
	var alone []*CPU
	for i, c := range online {
		if keys[i].threads = threads[c.CPU]; keys[i].threads != nil {
			continue
		}
		cluster, _, err := r.readNumber(topologyDir(c.CPU) + "/cluster_id")
		if err != nil {
			return err
		}
		num, ok, err := r.readNumber(topologyDir(c.CPU) + "/core_id")
		if err != nil {
			return err
		}
		if ok && num >= 0 {
			keys[i] = coreKey{pkg: c.Package, die: c.Die, cluster: cluster, num: num}
		} else {
			keys[i] = coreKey{alone: c.CPU + 1}
			alone = append(alone, c)
		}
	}
	if len(alone) > 0 {
		r.warn("no core is recorded for CPUs %s; each is taken for a core of its own", numbersOf(alone))
	}
	for i, n := range number(keys) {
		online[i].Core = n
	}
	return nil
}

// pmuClasses are the files in which a hybrid x86 machine tells its classes: the CPUs of each kind's event counters
// (arch/x86/events/intel/core.c).
var pmuClasses = []struct{ file, class string }{
	{"sys/devices/cpu_core/cpus", Performance},
	{"sys/devices/cpu_atom/cpus", Efficiency},
	{"sys/devices/cpu_lowpower/cpus", Efficiency},
}

// readClasses sets Class.
func (r *reader) readClasses(online []*CPU) error {
	for _, kind := range pmuClasses {
		cpus, err := r.readOptionalSet(kind.file)
		if err != nil {
			return err
		}
		for _, c := range online {
			if cpus.Contains(c.CPU) {
				c.Class = kind.class
			}
		}
	}
	classed := func(c *CPU) bool { return c.Class != "" }
	if len(without(online, classed)) < len(online) {
		return nil
	}
	return r.readCapacities(online)
}

// readCapacities sets Class from cpu_capacity (arm64, riscv, hybrid x86 in a virtual machine), which is 1024 for the
// fastest CPU. The least of several capacities is the class of efficiency, if it is below four fifths of the greatest:
// chips of one kind differ by less, as their best cores may clock higher.
func (r *reader) readCapacities(online []*CPU) error {
	capacities := make([]int, len(online))
	for i, c := range online {
		n, ok, err := r.readNumber(cpuFile(c.CPU, "cpu_capacity"))
		if !ok {
			return err
		}
		capacities[i] = n
	}
	least, greatest := capacities[0], capacities[0]
	for _, n := range capacities {
		least, greatest = min(least, n), max(greatest, n)
	}
	if 5*least >= 4*greatest {
		return nil
	}
	for i, c := range online {
		c.Class = Performance
		if capacities[i] == least {
			c.Class = Efficiency
		}
	}
	return nil
}
