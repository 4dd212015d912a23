package run

import (
	"fmt"
	"io/fs"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cgroup"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// machine is a machine, read once for all cells of a run.
type machine struct {
	*topology.Machine
	root fs.FS
	live bool

	recorded []result.Cell // of the run that is continued

	selected map[cpuFlags]cpuset.Set // by the flags that select them
}

// OpenRoot opens the captured machine that sysroot names, or the live one if sysroot is empty.
func OpenRoot(live fs.FS, sysroot string) (fs.FS, error) {
	if sysroot == "" {
		return live, nil
	}
	root, err := sysfs.OpenRoot(sysroot)
	if err != nil {
		return nil, hint.Flag("sysroot", sysroot, err)
	}
	return root, nil
}

// openMachine reads the captured machine that sysroot names, or the live one if sysroot is empty.
func openMachine(live fs.FS, sysroot string) (*machine, error) {
	root, err := OpenRoot(live, sysroot)
	if err != nil {
		return nil, err
	}
	t, err := ReadMachine(root, sysroot == "")
	if err != nil {
		return nil, err
	}
	return &machine{Machine: t, root: root, live: sysroot == "", selected: map[cpuFlags]cpuset.Set{}}, nil
}

// ReadMachine reads a machine, live or captured, and the cpuset of gorun's cgroup there. If the cpuset cannot be
// parsed, only the affinity mask counts, which the kernel keeps within the cpuset.
func ReadMachine(root fs.FS, live bool) (*topology.Machine, error) {
	affinity := func() (cpuset.Set, error) { return linux.GetAffinity(0) }
	if !live {
		affinity = nil
	}
	t, err := topology.ReadThis(root, affinity)
	if err != nil {
		return nil, err
	}
	cpus, err := cgroup.ReadCPUs(root)
	if err == nil && !cpus.Empty() && cpus.Intersect(t.Online()).Empty() {
		err, cpus = fmt.Errorf("the cpuset %s of the cgroup holds no online CPU", cpus), cpuset.Set{}
	}
	if err != nil {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%v; only the affinity mask counts", err))
	}
	t.SetCgroup(cpus)
	return t, nil
}

// share returns the machine with the CPUs that a cell's flags select.
func (m *machine) share(f cpuFlags, seed uint64) (experiment.Machine, error) {
	cpus, known := m.selected[f]
	if !known {
		within := m.Allowed()
		if f.ignoreAffinity {
			within = m.Possible()
		}
		ids, err := m.Select(f.cpus, within)
		if err != nil {
			return experiment.Machine{}, hint.Flag("cpus", f.cpus, err)
		}
		cpus = cpuset.Of(ids...)
		m.selected[f] = cpus
	}
	return experiment.Machine{Machine: m.Machine, CPUs: cpus, Root: m.root, Live: m.live, Seed: seed, Recorded: m.recorded}, nil
}
