package measure

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/kernel/cgroup"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// ReadHost describes the machine. root is the live machine, m its topology, and environ the environment of the samples,
// in the form of os.Environ. Values that the kernel does not report are absent, with a warning if a limit of the cgroup
// is unknown.
func ReadHost(root fs.FS, m *topology.Machine, environ []string) (result.Host, []result.Warning) {
	counts := m.Counts()
	h := result.Host{
		OS: runtime.GOOS, Arch: runtime.GOARCH, GOMAXPROCS: runtime.GOMAXPROCS(0),
		CPUs: counts.CPUs, Online: counts.Online, Cores: counts.Cores, LLCs: counts.LLCs, Nodes: counts.Nodes,
		Packages: counts.Packages, Allowed: m.Allowed().String(),
		CPUModel: cpuinfo(root, "model name"), Microcode: cpuinfo(root, "microcode"),
		Hypervisor: strings.Contains(" "+cpuinfo(root, "flags")+" ", " hypervisor "),
		Topology:   hashTopology(m), Turbo: readTurbo(root), Mitigations: hashMitigations(root),
		Environment: strings.Join(Environment(environ), " "),
	}
	h.Hostname, _ = os.Hostname()
	// The time after its last run in which a thread's caches are assumed to be warm. It is in debugfs, which only root
	// may read; before Linux 5.13 it was a sysctl.
	if seconds, err := linux.MigrationCost.Read(root); err == nil {
		h.MigrationCost = strconv.FormatFloat(seconds*1e9, 'f', 0, 64)
	}
	for name, field := range map[string]*string{
		"proc/cmdline":                                                    &h.CommandLine,
		"proc/sys/kernel/osrelease":                                       &h.Kernel,
		"proc/sys/kernel/numa_balancing":                                  &h.NUMABalancing,
		"proc/sys/kernel/random/boot_id":                                  &h.BootID,
		"proc/sys/kernel/randomize_va_space":                              &h.ASLR,
		"sys/devices/system/cpu/smt/control":                              &h.SMT,
		"sys/devices/system/clocksource/clocksource0/current_clocksource": &h.Clocksource,
		cpuDir(m.Allowed().First()) + "cpufreq/scaling_governor":          &h.Governor,
	} {
		*field, _ = sysfs.ReadString(root, name)
	}
	if linux.FixedAddresses(root) {
		h.ASLR = result.NoASLR
	}
	pages, _ := sysfs.ReadString(root, "sys/kernel/mm/transparent_hugepage/enabled")
	h.THP = chosen(pages)
	h.MemoryBytes, _ = sysfs.ReadKB(root, "proc/meminfo", "MemTotal")
	var warnings []result.Warning
	switch quota, err := cgroup.ReadQuota(root); {
	case err != nil:
		warnings = append(warnings, result.WarningOf("no-cpu-quota", "the CPU quota is not known", err))
	case quota.CPUs > 0:
		h.CPUQuota = &quota.CPUs
	}
	limits, err := cgroup.ReadMemory(root)
	if err != nil {
		warnings = append(warnings, result.WarningOf("no-memory-limit", "the limit on memory is not known", err))
	}
	if len(limits) > 0 {
		h.MemoryLimit = slices.MinFunc(limits, func(a, b cgroup.Limit) int { return cmp.Compare(a.Max, b.Max) }).Max
	}
	return h, warnings
}

// variables are the environment variables that change how a program runs but not what it computes: those of the Go
// runtime (its documentation, "Environment Variables"), the dynamic loader (ld.so(8)), malloc and OpenMP. A name that
// ends in _ is a prefix.
var variables = []string{
	"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GORACE", "GOTRACEBACK",
	"GLIBC_TUNABLES", "LD_", "MALLOC_",
	"GOMP_", "KMP_", "OMP_",
}

// Environment returns the variables of environ that change how a program runs, sorted.
func Environment(environ []string) []string {
	kept := []string{}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if slices.ContainsFunc(variables, func(v string) bool {
			return name == v || strings.HasSuffix(v, "_") && strings.HasPrefix(name, v)
		}) {
			kept = append(kept, variable)
		}
	}
	slices.Sort(kept)
	return kept
}

// shortHash returns the first 12 hexadecimal digits of a text's SHA-256: enough to distinguish a few machines.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// hashTopology returns a hash of which CPUs share a core, an LLC, a node and a package.
func hashTopology(m *topology.Machine) string {
	var text strings.Builder
	for _, c := range m.CPUs {
		fmt.Fprintf(&text, "CPU %d core %d LLC %d node %d package %d\n", c.CPU, c.Core, c.LLC, c.Node, c.Package)
	}
	return shortHash(text.String())
}

// hashMitigations returns a hash of the kernel's mitigations of CPU vulnerabilities
// (Documentation/ABI/testing/sysfs-devices-system-cpu); "" if the kernel does not report them.
func hashMitigations(root fs.FS) string {
	const dir = "sys/devices/system/cpu/vulnerabilities"
	entries, err := fs.ReadDir(root, dir) // sorted
	if err != nil {
		return ""
	}
	var text strings.Builder
	for _, entry := range entries {
		stand, _ := sysfs.ReadString(root, path.Join(dir, entry.Name()))
		fmt.Fprintf(&text, "%s: %s\n", entry.Name(), stand)
	}
	return shortHash(text.String())
}

// turboFiles show whether CPUs may clock above their nominal frequency (Documentation/admin-guide/pm/intel_pstate.rst
// and cpufreq.rst).
var turboFiles = []struct{ name, on string }{
	{"sys/devices/system/cpu/intel_pstate/no_turbo", "0"},
	{"sys/devices/system/cpu/cpufreq/boost", "1"},
}

// readTurbo returns "on" or "off"; "" if the kernel does not report it.
func readTurbo(root fs.FS) string {
	for _, file := range turboFiles {
		if text, err := sysfs.ReadString(root, file.name); err == nil {
			return map[bool]string{true: "on", false: "off"}[text == file.on]
		}
	}
	return ""
}

func cpuDir(cpu int) string { return "sys/devices/system/cpu/cpu" + strconv.Itoa(cpu) + "/" }

// cpuinfo returns the first CPU's field of /proc/cpuinfo; "" if there is none (arm64 has no model name).
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

// readMHz returns the CPUs' mean frequency in MHz now, by cpufreq; nil if the kernel does not report it (most virtual
// machines).
func readMHz(root fs.FS, cpus cpuset.Set) *float64 {
	sum, n := 0.0, 0
	for cpu := range cpus.All() {
		kHz, err := sysfs.ReadInt(root, path.Join(cpuDir(cpu), "cpufreq/scaling_cur_freq"))
		if err != nil || kHz <= 0 {
			return nil
		}
		sum, n = sum+float64(kHz)/1000, n+1
	}
	if n == 0 {
		return nil
	}
	return new(sum / float64(n))
}
