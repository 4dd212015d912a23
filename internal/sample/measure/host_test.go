package measure

import (
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

func TestReadHost(t *testing.T) {
	root := os.DirFS("/")
	m, err := topology.Read(root)
	require.NoError(t, err)
	h, warnings := ReadHost(root, m, []string{"GOGC=50"})
	assert.Empty(t, warnings)
	assert.Equal(t, m.Counts().Online, h.Online)
	assert.NotEmpty(t, h.Kernel)
	assert.Positive(t, h.MemoryBytes)
	assert.Positive(t, h.GOMAXPROCS)
	assert.NotEmpty(t, h.CommandLine)
	assert.NotEmpty(t, h.ASLR)
	assert.Equal(t, "GOGC=50", h.Environment)

	again, _ := ReadHost(root, m, []string{"GOGC=50"})
	assert.Empty(t, result.Differences(&result.Run{Host: h}, &result.Run{Host: again}))
}

// recordedMachine returns a machine with four CPUs (0 and 2, and 1 and 3, share a core) and other files.
func recordedMachine(other map[string]string) fs.FS {
	files := map[string]string{
		"sys/devices/system/cpu/present": "0-3", "sys/devices/system/cpu/online": "0-3",
		"sys/devices/system/cpu/cpu0/topology/core_cpus_list": "0,2",
		"sys/devices/system/cpu/cpu1/topology/core_cpus_list": "1,3",
		"sys/devices/system/cpu/cpu2/topology/core_cpus_list": "0,2",
		"sys/devices/system/cpu/cpu3/topology/core_cpus_list": "1,3",
	}
	maps.Copy(files, other)
	return filesOf(files)
}

func readHost(t *testing.T, root fs.FS, environ ...string) result.Host {
	t.Helper()
	m, err := topology.Read(root)
	require.NoError(t, err)
	h, warnings := ReadHost(root, m, environ)
	require.Empty(t, warnings)
	return h
}

func TestReadHostConditions(t *testing.T) {
	h := readHost(t, recordedMachine(nil))
	assert.Empty(t, h.CommandLine+h.SMT+h.Turbo+h.Mitigations+h.ASLR+h.Environment+h.MigrationCost+h.THP)
	assert.Zero(t, h.MemoryLimit)

	const group = "sys/fs/cgroup/"
	h = readHost(t, recordedMachine(map[string]string{
		"proc/cmdline":                               "quiet  mitigations=off",
		"proc/sys/kernel/randomize_va_space":         "2",
		"sys/devices/system/cpu/smt/control":         "notsupported",
		"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
		"proc/sys/kernel/sched_migration_cost_ns":    "400000",
		"proc/self/cgroup":                           "0::/a/b",
		"proc/self/mountinfo":                        "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
		group + "a/memory.max":                       "1048576", group + "a/memory.current": "4096",
		group + "a/b/memory.max": "2097152", group + "a/b/memory.current": "4096",
		group + "a/b/cpu.max": "150000 100000",
	}), "PATH=/bin", "OMP_NUM_THREADS=2", "GOGC=off")
	assert.Equal(t, "quiet  mitigations=off", h.CommandLine)
	assert.Equal(t, "2", h.ASLR)
	assert.Equal(t, "notsupported", h.SMT)
	assert.Equal(t, "madvise", h.THP)
	assert.Equal(t, "400000", h.MigrationCost)
	assert.EqualValues(t, 1048576, h.MemoryLimit, "the least of the group's and its ancestors'")
	require.NotNil(t, h.CPUQuota)
	assert.Equal(t, 1.5, *h.CPUQuota)
	assert.Equal(t, "GOGC=off OMP_NUM_THREADS=2", h.Environment)
}

func TestReadTurbo(t *testing.T) {
	const noTurbo, boost = "sys/devices/system/cpu/intel_pstate/no_turbo", "sys/devices/system/cpu/cpufreq/boost"
	for files, want := range map[[2]string]string{
		{}: "", {noTurbo, "0"}: "on", {noTurbo, "1"}: "off", {boost, "1"}: "on", {boost, "0"}: "off",
	} {
		assert.Equal(t, want, readTurbo(filesOf(map[string]string{files[0]: files[1]})), "%v", files)
	}
	assert.Equal(t, "off", readTurbo(filesOf(map[string]string{noTurbo: "1", boost: "1"})))
}

// Hashes are the same in every build (sha256sum gives the same), and change with their inputs.
func TestHashes(t *testing.T) {
	shared := readHost(t, recordedMachine(nil)).Topology
	assert.Equal(t, "cf6d6d636aa7", shared)
	const cpu = "sys/devices/system/cpu/cpu"
	for what, files := range map[string]map[string]string{
		"core": {
			cpu + "0/topology/core_cpus_list": "0-1", cpu + "1/topology/core_cpus_list": "0-1",
			cpu + "2/topology/core_cpus_list": "2-3", cpu + "3/topology/core_cpus_list": "2-3",
		},
		"LLC": {
			cpu + "0/cache/index3/level": "3", cpu + "0/cache/index3/shared_cpu_list": "0,2",
			cpu + "1/cache/index3/level": "3", cpu + "1/cache/index3/shared_cpu_list": "1,3",
		},
		"node": {
			"sys/devices/system/node/online": "0-1", "sys/devices/system/node/node0/cpulist": "0,2",
			"sys/devices/system/node/node1/cpulist": "1,3",
		},
		"package": {
			// With one cache over both, so that nothing else changes.
			cpu + "0/cache/index3/level": "3", cpu + "0/cache/index3/shared_cpu_list": "0-3",
			cpu + "1/topology/physical_package_id": "1", cpu + "3/topology/physical_package_id": "1",
			cpu + "0/topology/physical_package_id": "0", cpu + "2/topology/physical_package_id": "0",
		},
		"offline": {"sys/devices/system/cpu/online": "0-2"},
	} {
		assert.NotEqual(t, shared, readHost(t, recordedMachine(files)).Topology, what)
	}
	masked := recordedMachine(map[string]string{"proc/self/status": "Cpus_allowed_list:\t0-1"})
	assert.Equal(t, shared, readHost(t, masked).Topology, "what the process was given is not the machine's")

	const dir = "sys/devices/system/cpu/vulnerabilities/"
	mitigations := func(meltdown, mds string) string {
		return hashMitigations(recordedMachine(map[string]string{dir + "meltdown": meltdown, dir + "mds": mds}))
	}
	assert.Equal(t, "472266642f53", mitigations("Mitigation: PTI", "Not affected"))
	assert.NotEqual(t, mitigations("Vulnerable", "Not affected"), mitigations("Not affected", "Vulnerable"))
	assert.NotEqual(t, mitigations("Vulnerable", "Not affected"), mitigations("Mitigation: PTI", "Not affected"))
}

func TestEnvironment(t *testing.T) {
	assert.Equal(t, []string{
		"GLIBC_TUNABLES=a=1:b=2", "GODEBUG=", "GOGC=off", "GOMAXPROCS=2", "GOMEMLIMIT=1GiB", "GOMP_CPU_AFFINITY=0 1",
		"GORACE=halt_on_error=1", "GOTRACEBACK=all", "KMP_AFFINITY=compact", "LD_LIBRARY_PATH=/opt", "LD_PRELOAD=x.so y.so",
		"MALLOC_ARENA_MAX=1", "OMP_NUM_THREADS=4",
	}, Environment(strings.Split("OMP_NUM_THREADS=4;PATH=/bin;HOME=/root;GOTRACEBACK=all;GOPATH=/go;GOFLAGS=-v;"+
		"GOPROXY=off;GOROOT=/go;GOCACHE=/c;GOMODCACHE=/m;GOBIN=/b;GOENV=off;GOTOOLCHAIN=local;GOWORK=off;GOEXE=;GOAMD64=v3;"+
		"GOOGLE_API_KEY=secret;GOGCX=1;LD=ld;MALLOC=1;OMP=1;=odd;noequals;GOMAXPROCS=2;GOGC=off;GODEBUG=;GOMEMLIMIT=1GiB;"+
		"LD_PRELOAD=x.so y.so;LD_LIBRARY_PATH=/opt;MALLOC_ARENA_MAX=1;GLIBC_TUNABLES=a=1:b=2;KMP_AFFINITY=compact;"+
		"GOMP_CPU_AFFINITY=0 1;GORACE=halt_on_error=1;MY_OMP_NUM_THREADS=1", ";")))
	assert.Equal(t, []string{}, Environment(nil))
}

// A limit that cannot be parsed is left out, with a warning that names its file; the rest is described.
func TestReadHostOfBrokenLimits(t *testing.T) {
	const group = "sys/fs/cgroup/"
	root := recordedMachine(map[string]string{
		"proc/self/cgroup":         "0::/a",
		"proc/self/mountinfo":      "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
		group + "a/cpu.max":        "much 100000",
		group + "a/memory.max":     "\x00\xff",
		group + "a/memory.current": "4096",
		"proc/cmdline":             "quiet",
	})
	m, err := topology.Read(root)
	require.NoError(t, err)
	h, warnings := ReadHost(root, m, nil)
	assert.Nil(t, h.CPUQuota)
	assert.Zero(t, h.MemoryLimit)
	assert.Equal(t, "quiet", h.CommandLine)
	require.Len(t, warnings, 2)
	assert.Equal(t, "no-cpu-quota", warnings[0].Code)
	assert.Contains(t, warnings[0].Message, "sys/fs/cgroup/a/cpu.max: malformed")
	assert.Equal(t, "no-memory-limit", warnings[1].Code)
	assert.Contains(t, warnings[1].Message, "sys/fs/cgroup/a/memory.max: malformed")
}
