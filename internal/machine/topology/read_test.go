package topology_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/machine/topology/topologytest"
)

// If the files of one CPU are missing and other CPUs have the same data, nothing is lost.
func TestReadWithoutOneCPUsFiles(t *testing.T) {
	large := topologytest.Large{CPUs: 16, Nodes: 2}
	without := func(prefix string) topology.Document {
		fsys := fstest.MapFS{}
		for name, content := range large.Files() {
			if prefix == "" || !strings.HasPrefix(name, prefix) {
				fsys[name] = &fstest.MapFile{Data: []byte(content)}
			}
		}
		m, err := topology.Read(fsys)
		require.NoError(t, err)
		return m.Document("")
	}
	whole := without("")
	for cpu := range large.CPUs {
		for _, files := range []string{"", "topology/", "cache/", "topology/core", "topology/p"} {
			prefix := fmt.Sprintf("sys/devices/system/cpu/cpu%d/%s", cpu, files)
			require.Equal(t, whole, without(prefix), prefix)
		}
	}
}

// small returns a machine with few CPUs from the files of its CPU directory.
func small(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, content := range files {
		if !strings.HasPrefix(name, "sys/") {
			name = "sys/devices/system/cpu/" + name
		}
		fsys[name] = &fstest.MapFile{Data: []byte(content + "\n")}
	}
	return fsys
}

func TestReadByNumbersAlone(t *testing.T) {
	m, err := topology.Read(small(map[string]string{
		"present": "0-5", "online": "0-5",
		"cpu0/topology/core_id": "0", "cpu0/topology/die_id": "0", "cpu0/topology/physical_package_id": "1",
		"cpu1/topology/core_id": "0", "cpu1/topology/die_id": "0", "cpu1/topology/physical_package_id": "1",
		"cpu2/topology/core_id": "0", "cpu2/topology/die_id": "1", "cpu2/topology/physical_package_id": "1",
		"cpu3/topology/core_id": "-1", "cpu3/topology/physical_package_id": "1",
		"cpu4/topology/core_id": "-1", "cpu4/topology/physical_package_id": "1",
	}))
	require.NoError(t, err)
	var cores, packages []int
	for _, c := range m.CPUs {
		cores, packages = append(cores, c.Core), append(packages, c.Package)
	}
	assert.Equal(t, []int{0, 0, 1, 2, 3, 4}, cores, "by die, and alone where the number is not known")
	assert.Equal(t, []int{1, 1, 1, 1, 1, 1}, packages, "CPU 5 is taken to be in the first")
	assert.Equal(t, []string{
		"no package is recorded for CPUs 5; they are taken to be in the first one",
		"no core is recorded for CPUs 3-5; each counts as a separate core",
		"no cache is recorded; each die counts as an LLC, or each package if dies are not recorded",
	}, m.Warnings)
}

// The kinds of CPUs, each with its class and its CPUs, the fastest first.
func TestKindsAndClasses(t *testing.T) {
	const core, atom, lowpower = "sys/devices/cpu_core/cpus", "sys/devices/cpu_atom/cpus", "sys/devices/cpu_lowpower/cpus"
	for _, c := range []struct {
		what, want      string
		capacity, clock []int // of each CPU; 0: no file
		counters        map[string]string
	}{
		{what: "three kinds", capacity: []int{250, 250, 250, 250, 620, 620, 620, 1024}, want: "P 7, P 4-6, E 0-3"},
		{what: "the fastest come first", capacity: []int{1024, 620, 250}, want: "P 0, P 1, E 2"},
		{what: "four kinds", capacity: []int{160, 498, 871, 1024}, want: "P 3, P 2, P 1, E 0"},
		{what: "two kinds, one of them varies", capacity: []int{718, 731, 997, 1024}, want: "P 2-3, E 0-1"},
		{what: "favoured cores are no kind", capacity: []int{1000, 1010, 1024}, want: " 0-2"},
		{what: "a capacity is missing", capacity: []int{250, 0, 1024}, want: " 0-2"},
		{what: "capacities decide before clocks", capacity: []int{446, 1024}, clock: []int{2400, 2000}, want: "P 1, E 0"},
		{what: "no capacity was given", capacity: []int{1024, 1024}, clock: []int{2064, 2988}, want: "P 1, E 0"},
		{what: "only clocks", clock: []int{3300, 5100, 5100}, want: "P 1-2, E 0"},
		{what: "favoured by 100 MHz", clock: []int{4600, 4700, 4800}, want: " 0-2"},
		{what: "equal cores whose clocks vary widely", clock: []int{5352, 5677, 6001, 6321, 6482}, want: " 0-4"},
		{what: "counters", counters: map[string]string{core: "0", atom: "1", lowpower: "2"}, capacity: []int{0, 0, 0}, want: "P 0, E 1, E 2"},
		{
			what: "counters and clocks", counters: map[string]string{core: "0-1", atom: "2-4"},
			clock: []int{5000, 4800, 3800, 3800, 2500}, want: "P 0-1, E 2-3, E 4",
		},
		{what: "efficiency cores are off", counters: map[string]string{core: "0-1"}, clock: []int{5000, 4900}, want: "P 0-1"},
	} {
		online := fmt.Sprintf("0-%d", max(len(c.capacity), len(c.clock))-1)
		files := map[string]string{"present": online, "online": online}
		maps.Copy(files, c.counters)
		for name, numbers := range map[string][]int{"cpu_capacity": c.capacity, "cpufreq/cpuinfo_max_freq": c.clock} {
			for cpu, n := range numbers {
				if n > 0 {
					files[fmt.Sprintf("cpu%d/%s", cpu, name)] = strconv.Itoa(n)
				}
			}
		}
		m, err := topology.Read(small(files))
		require.NoError(t, err, c.what)
		var got []string
		for _, kind := range m.Kinds() {
			first, _ := m.CPU(kind.First())
			got = append(got, first.Class+" "+kind.String())
		}
		assert.Equal(t, c.want, strings.Join(got, ", "), c.what)
	}
}

// CPUs on no node are on an unknown one, which no selector has, and have the relation cross-node to all others.
func TestReadOfCPUsWithoutANode(t *testing.T) {
	m, err := topology.Read(small(map[string]string{
		"present": "0-1", "online": "0-1", "cpu0/cache/index3/level": "3", "cpu0/cache/index3/shared_cpu_list": "0",
		"sys/devices/system/node/online": "0-1", "sys/devices/system/node/node0/distance": "10 20",
	}))
	require.NoError(t, err)
	requireSound(t, m)
	assert.Equal(t, topology.Unknown, m.NodeOf(1))
	assert.Contains(t, strings.Join(m.Warnings, "\n"), "no node holds the online CPUs 0-1; their node is not known")
	assert.NotContains(t, m.Complete("node:"), "node:-1")
	assert.Equal(t, topology.CrossNode, m.Relation(0, 1))
}

// A file without read permission gives a warning, unlike an absent file.
func TestReadReportsWhatItMayNotRead(t *testing.T) {
	const name = "sys/devices/system/cpu/cpu3/topology/core_cpus_list"
	m, err := topology.Read(forbidding{hosts.Root(t, "hybrid"), name})
	require.NoError(t, err)
	assert.Equal(t, hosts.Machine(t, "hybrid").CPUs, m.CPUs)
	assert.Equal(t, []string{name + ": permission denied; it is left out"}, m.Warnings)
}

// forbidding is a recording in which files whose names match may not be read.
type forbidding struct {
	fs.FS
	pattern string
}

func (f forbidding) Open(name string) (fs.File, error) {
	if ok, _ := filepath.Match(f.pattern, name); ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.FS.Open(name)
}

// On this machine, the allowed CPUs are those of the Go runtime.
func TestReadThisMachine(t *testing.T) {
	m, err := topology.Read(os.DirFS("/"))
	require.NoError(t, err)
	requireSound(t, m)
	assert.Equal(t, runtime.NumCPU(), m.Allowed().Len())
}

// FuzzRead checks that any tree is read as a sound machine or refused with an error.
func FuzzRead(f *testing.F) {
	for _, name := range append(hosts.Names(f), hosts.Damaged(f)...) {
		if data := txtar.Format(hosts.Archive(f, name)); len(data) < 20_000 { // mutations of small trees go deeper
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys, err := txtar.FS(txtar.Parse(data))
		if err != nil {
			return
		}
		if m, err := topology.Read(fsys); err == nil {
			requireSound(t, m)
		}
	})
}

// On this machine with hidden files, the kernel's answer gives the CPUs; a captured one is refused.
func TestReadThisWithoutFiles(t *testing.T) {
	mask := cpuset.Of(1, 3)
	affinity := func() (cpuset.Set, error) { return mask, nil }
	hidden := fstest.MapFS{}
	_, err := topology.Read(hidden)
	require.ErrorIs(t, err, fs.ErrNotExist)
	m, err := topology.ReadThis(hidden, affinity)
	require.NoError(t, err)
	assert.Equal(t, mask, m.Online())
	assert.Equal(t, mask, m.Allowed())
	require.NotEmpty(t, m.Warnings)
	assert.Contains(t, m.Warnings[0], "mount -t sysfs sysfs /sys")

	// Without /proc, or if its mask is malformed, the mask is the kernel's answer.
	cpus := &fstest.MapFile{Data: []byte("0-3\n")}
	sys := fstest.MapFS{"sys/devices/system/cpu/present": cpus, "sys/devices/system/cpu/online": cpus}
	m, err = topology.ReadThis(sys, affinity)
	require.NoError(t, err)
	assert.Equal(t, mask, m.Allowed())
	sys["proc/self/status"] = &fstest.MapFile{Data: []byte("Cpus_allowed_list:\tnonsense\n")}
	_, err = topology.Read(sys)
	require.Error(t, err)
	m, err = topology.ReadThis(sys, affinity)
	require.NoError(t, err)
	assert.Equal(t, mask, m.Allowed())
	assert.Contains(t, strings.Join(m.Warnings, "\n"), "the kernel's own answer counts")

	// If the kernel does not answer either, there is an error or a warning.
	refused := func() (cpuset.Set, error) { return cpuset.Set{}, fs.ErrPermission }
	_, err = topology.ReadThis(hidden, refused)
	require.ErrorIs(t, err, fs.ErrPermission)
	delete(sys, "proc/self/status")
	m, err = topology.ReadThis(sys, refused)
	require.NoError(t, err)
	assert.Equal(t, cpuset.Range(0, 3), m.Allowed())
	assert.Contains(t, strings.Join(m.Warnings, "\n"), "every online CPU is taken for ours")
}
