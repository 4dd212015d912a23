package measure

import (
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"

	"gorun/internal/cgroup"
	"gorun/internal/cpuset"
	"gorun/internal/result"
	"gorun/internal/sysfs"
	"gorun/internal/topology"
)

// ReadHost describes the machine. root is the live machine, m what topology read from it. What the kernel does not tell
// stays absent.
func ReadHost(root fs.FS, m *topology.Machine) (result.Host, error) {
	counts := m.Counts()
	h := result.Host{
		OS: runtime.GOOS, Arch: runtime.GOARCH, GOMAXPROCS: runtime.GOMAXPROCS(0),
		CPUs: counts.CPUs, Online: counts.Online, Cores: counts.Cores, LLCs: counts.LLCs, Nodes: counts.Nodes,
		Packages: counts.Packages, Allowed: m.Allowed().String(),
		CPUModel: cpuinfo(root, "model name"), Microcode: cpuinfo(root, "microcode"),
		Hypervisor: strings.Contains(" "+cpuinfo(root, "flags")+" ", " hypervisor "),
	}
	h.Hostname, _ = os.Hostname()
	for name, field := range map[string]*string{
		"proc/sys/kernel/osrelease":                                       &h.Kernel,
		"proc/sys/kernel/numa_balancing":                                  &h.NUMABalancing,
		"proc/sys/kernel/random/boot_id":                                  &h.BootID,
		"sys/devices/system/clocksource/clocksource0/current_clocksource": &h.Clocksource,
		cpuDir(m.Allowed().First()) + "cpufreq/scaling_governor":          &h.Governor,
	} {
		*field, _ = sysfs.ReadString(root, name)
	}
	if thp, err := sysfs.ReadString(root, "sys/kernel/mm/transparent_hugepage/enabled"); err == nil {
		h.THP = chosen(thp)
	}
	if kb, err := sysfs.ReadKB(root, "proc/meminfo", "MemTotal"); err == nil {
		h.MemoryBytes = kb
	}
	quota, limited, err := cgroup.ReadQuota(root)
	if err == nil && limited {
		h.CPUQuota = &quota
	}
	return h, err
}

func cpuDir(cpu int) string { return "sys/devices/system/cpu/cpu" + strconv.Itoa(cpu) + "/" }

// cpuinfo returns the first CPU's field of /proc/cpuinfo; "" when it has none (arm64 names no model).
func cpuinfo(root fs.FS, field string) string {
	value, _ := sysfs.ReadField(root, "proc/cpuinfo", field)
	return value
}

// chosen returns the bracketed word of a list such as "always [madvise] never".
func chosen(list string) string {
	_, rest, ok := strings.Cut(list, "[")
	word, _, closed := strings.Cut(rest, "]")
	if !ok || !closed {
		return list
	}
	return word
}

// readMHz returns the CPUs' mean frequency in MHz now, by cpufreq; nil where the kernel does not tell (most virtual
// machines).
func readMHz(root fs.FS, cpus cpuset.Set) *float64 {
	sum, n := 0.0, 0
	for cpu := range cpus.All() {
		kHz, err := sysfs.ReadInt(root, path.Join(cpuDir(cpu), "cpufreq/scaling_cur_freq"))
		if err != nil {
			return nil
		}
		sum, n = sum+float64(kHz)/1000, n+1
	}
	if n == 0 {
		return nil
	}
	mean := sum / float64(n)
	return &mean
}
