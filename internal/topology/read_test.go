package topology_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"gorun/internal/cpuset"
	"gorun/internal/topology"
)

// maker writes the files of a machine from the given position of each CPU.
type maker struct {
	fsys    fstest.MapFS
	online  cpuset.Set
	bitmaps bool // masks instead of lists, as by old kernels
}

func (mk *maker) put(name string, content any) {
	mk.fsys[name] = &fstest.MapFile{Data: fmt.Appendln(nil, content)}
}

// putSet writes a list, or the bitmap file in its place.
func (mk *maker) putSet(list, bitmap string, cpus cpuset.Set) {
	cpus = cpus.Intersect(mk.online)
	if !mk.bitmaps {
		mk.put(list, cpus)
		return
	}
	var groups []string
	for _, word := range cpus.Words(1) {
		groups = append(groups, fmt.Sprintf("%08x,%08x", word>>32, uint32(word)))
	}
	slices.Reverse(groups)
	mk.put(bitmap, strings.Join(groups, ","))
}

// place is the position of a CPU; only equality of the numbers matters.
type place struct{ pkg, node, llc, core int }

// make writes the files. ids are the numbers of the CPUs, places their positions in the same order.
func (mk *maker) make(ids []int, places []place) {
	const cpuDir, nodeDir = "sys/devices/system/cpu/", "sys/devices/system/node/"
	mk.fsys = fstest.MapFS{}
	mk.put(cpuDir+"present", cpuset.Of(ids...))
	mk.put(cpuDir+"online", mk.online)
	sets := map[string]cpuset.Set{}
	for i, p := range places {
		for _, key := range []string{
			fmt.Sprint("pkg", p.pkg), fmt.Sprint("node", p.node), fmt.Sprint("llc", p.llc), fmt.Sprint("core", p.core),
		} {
			sets[key] = sets[key].With(ids[i])
		}
	}
	nodes := cpuset.Set{}
	for i, p := range places {
		if !mk.online.Contains(ids[i]) {
			continue
		}
		dir := cpuDir + "cpu" + strconv.Itoa(ids[i])
		mk.putSet(dir+"/topology/core_cpus_list", dir+"/topology/core_cpus", sets[fmt.Sprint("core", p.core)])
		mk.putSet(dir+"/topology/package_cpus_list", dir+"/topology/package_cpus", sets[fmt.Sprint("pkg", p.pkg)])
		mk.put(dir+"/topology/physical_package_id", p.pkg)
		mk.put(dir+"/topology/core_id", p.core%4) // repeats, like the kernel's numbers
		cache := dir + "/cache/index2/"
		mk.put(cache+"type", "Unified")
		mk.put(cache+"level", 3)
		mk.putSet(cache+"shared_cpu_list", cache+"shared_cpu_map", sets[fmt.Sprint("llc", p.llc)])
	}
	for _, p := range places {
		nodes = nodes.With(p.node)
		dir := nodeDir + "node" + strconv.Itoa(p.node) + "/"
		mk.putSet(dir+"cpulist", dir+"cpumap", sets[fmt.Sprint("node", p.node)])
	}
	mk.put(nodeDir+"online", nodes)
}

// regular returns the positions of n CPUs; each level is a whole multiple of the one below.
func regular(n, threads, cores, llcs, nodes int) []place {
	places := make([]place, n)
	for i := range places {
		core := i / threads
		llc := core / cores
		node := llc / llcs
		places[i] = place{pkg: node / nodes, node: node, llc: llc, core: core}
	}
	return places
}

func TestReadAsManyCPUsAsAKernelCanHave(t *testing.T) {
	ids := make([]int, 4096)
	for i := range ids {
		ids[i] = i
	}
	for _, bitmaps := range []bool{false, true} {
		mk := &maker{online: cpuset.Range(0, 4095).Minus(cpuset.Of(7, 2048)), bitmaps: bitmaps}
		mk.make(ids, regular(4096, 2, 8, 4, 4))
		m, err := topology.Read(archived(t, mk.fsys))
		require.NoError(t, err)
		requireSound(t, m)
		assert.Equal(t,
			topology.Counts{CPUs: 4096, Online: 4094, Cores: 2048, Packages: 16, Nodes: 64, LLCs: 256}, m.Counts())
		assert.Equal(t, topology.SameLLC, m.Relation(4080, 4095))
		cpus, err := m.Select("one-per-core", m.Allowed())
		require.NoError(t, err)
		assert.Len(t, cpus, 2048)
	}
}

// archived holds the same files in a txtar.FS, because a MapFS visits all of its files to list one directory.
func archived(t *testing.T, files fstest.MapFS) fs.FS {
	t.Helper()
	archive := &txtar.Archive{}
	for name, file := range files {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: file.Data})
	}
	fsys, err := txtar.FS(archive)
	require.NoError(t, err)
	return fsys
}

// For any numbers, gaps, offline CPUs and file formats, CPUs share in the result exactly what they shared in the
// input.
func TestReadProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := func(name string) int { return rapid.IntRange(1, 3).Draw(t, name) }
		n := rapid.IntRange(1, 48).Draw(t, "cpus")
		places := regular(n, shape("threads"), shape("cores"), shape("llcs"), shape("nodes"))
		ids := rapid.SliceOfNDistinct(rapid.IntRange(0, 300), n, n, rapid.ID[int]).Draw(t, "ids")
		offline := cpuset.Of(rapid.SliceOfDistinct(rapid.SampledFrom(ids), rapid.ID[int]).Draw(t, "offline")...)
		online := cpuset.Of(ids...).Minus(offline)
		if online.Empty() {
			online = cpuset.Of(ids[0])
		}
		mk := &maker{online: online, bitmaps: rapid.Bool().Draw(t, "bitmaps")}
		mk.make(ids, places)
		m, err := topology.Read(mk.fsys)
		require.NoError(t, err)
		requireSound(t, m)
		require.Empty(t, m.Warnings)
		require.True(t, online.Equal(m.Online()))
		for i := range ids {
			a, _ := m.CPU(ids[i])
			for j := range ids {
				b, _ := m.CPU(ids[j])
				if !a.Online || !b.Online {
					continue
				}
				got := place{same(a.Package, b.Package), same(a.Node, b.Node), same(a.LLC, b.LLC), same(a.Core, b.Core)}
				p, q := places[i], places[j]
				want := place{same(p.pkg, q.pkg), same(p.node, q.node), same(p.llc, q.llc), same(p.core, q.core)}
				require.Equal(t, want, got, "CPUs %d and %d", ids[i], ids[j])
				require.Equal(t, m.Relation(ids[i], ids[j]), m.Relation(ids[j], ids[i]))
			}
		}
	})
}

func same(a, b int) int {
	if a == b {
		return 1
	}
	return 0
}

// If the files of one CPU are missing and another CPU has the same data, the counts stay right.
func TestReadWithoutOneCPUsFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := make([]int, 16)
		for i := range ids {
			ids[i] = i
		}
		mk := &maker{online: cpuset.Range(0, 15)}
		mk.make(ids, regular(16, 2, 2, 2, 1))
		whole, err := topology.Read(mk.fsys)
		require.NoError(t, err)

		dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/", rapid.SampledFrom(ids).Draw(t, "cpu"))
		dir += rapid.SampledFrom([]string{"", "topology/", "cache/", "topology/core", "topology/p"}).Draw(t, "files")
		maps.DeleteFunc(mk.fsys, func(name string, _ *fstest.MapFile) bool { return strings.HasPrefix(name, dir) })
		holed, err := topology.Read(mk.fsys)
		require.NoError(t, err)
		require.Equal(t, whole, holed)
	})
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
		{what: "two kinds, of which one varies", capacity: []int{718, 731, 997, 1024}, want: "P 2-3, E 0-1"},
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

// CPUs on no node, or in the lists of two, are on an unknown node and have relation cross-node to all others.
func TestReadOfCPUsWithoutANode(t *testing.T) {
	m, err := topology.Read(small(map[string]string{
		"present": "0-1", "online": "0-1",
		"sys/devices/system/node/online": "0-1", "sys/devices/system/node/node0/distance": "10 20",
	}))
	require.NoError(t, err)
	requireSound(t, m)
	assert.Equal(t, topology.Unknown, m.NodeOf(1))
	assert.Contains(t, strings.Join(m.Warnings, "\n"), "no node holds the online CPUs 0-1; their node is not known")
	assert.NotContains(t, m.Complete("node:"), "node:-1")
}

// A file without read permission gives a warning, unlike an absent file.
func TestReadReportsWhatItMayNotRead(t *testing.T) {
	const name = "sys/devices/system/cpu/cpu3/topology/core_cpus_list"
	m, err := topology.Read(forbidding{open(t, hostsDir+"/hybrid.txtar"), name})
	require.NoError(t, err)
	assert.Equal(t, host(t, "hybrid").CPUs, m.CPUs)
	assert.Equal(t, []string{name + ": permission denied; it is left out"}, m.Warnings)
}

type forbidding struct {
	fs.FS
	name string
}

func (f forbidding) Open(name string) (fs.File, error) {
	if name == f.name {
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
	for _, dir := range []string{hostsDir, hostsDir + "/damaged"} {
		for _, file := range hosts(f, dir) {
			data, err := os.ReadFile(file)
			require.NoError(f, err)
			if len(data) < 20_000 { // mutations of small trees go deeper
				f.Add(data)
			}
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

// A recording with a few changed files is read as a sound machine or refused with an error.
func TestReadOfSpoiltTrees(t *testing.T) {
	var archives []*txtar.Archive
	for _, file := range hosts(t, hostsDir) {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		if len(archive.Files) < 150 {
			archives = append(archives, archive)
		}
	}
	contents := []string{"", "\n", "0", "1", "-1", "0-3", "1-2", "3", "9999999999", "0-65535", "65535", "ff", "x", "10 20"}
	rapid.Check(t, func(t *rapid.T) {
		spoilt := &txtar.Archive{Files: slices.Clone(rapid.SampledFrom(archives).Draw(t, "machine").Files)}
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			i := rapid.IntRange(0, len(spoilt.Files)-1).Draw(t, "file")
			switch rapid.IntRange(0, 2).Draw(t, "change") {
			case 0:
				spoilt.Files[i].Data = []byte(rapid.SampledFrom(contents).Draw(t, "content"))
			case 1:
				spoilt.Files[i].Data = rapid.SampledFrom(spoilt.Files).Draw(t, "other").Data
			case 2:
				spoilt.Files = slices.Delete(spoilt.Files, i, i+1)
			}
		}
		fsys, err := txtar.FS(spoilt)
		require.NoError(t, err)
		m, err := topology.Read(fsys)
		if err != nil {
			require.Nil(t, m)
			return
		}
		requireSound(t, m)
	})
}

// On a live machine with hidden files, the kernel's answer gives the CPUs; a captured one is refused.
func TestReadLiveWithoutFiles(t *testing.T) {
	mask := cpuset.Of(1, 3)
	affinity := func() (cpuset.Set, error) { return mask, nil }
	hidden := fstest.MapFS{}
	_, err := topology.Read(hidden)
	require.ErrorIs(t, err, fs.ErrNotExist)
	m, err := topology.ReadLive(hidden, affinity)
	require.NoError(t, err)
	assert.Equal(t, mask, m.Online())
	assert.Equal(t, mask, m.Allowed())
	require.NotEmpty(t, m.Warnings)
	assert.Contains(t, m.Warnings[0], "mount -t sysfs sysfs /sys")

	// Without /proc, or if its mask is malformed, the mask is the kernel's answer.
	cpus := &fstest.MapFile{Data: []byte("0-3\n")}
	sys := fstest.MapFS{"sys/devices/system/cpu/present": cpus, "sys/devices/system/cpu/online": cpus}
	m, err = topology.ReadLive(sys, affinity)
	require.NoError(t, err)
	assert.Equal(t, mask, m.Allowed())
	sys["proc/self/status"] = &fstest.MapFile{Data: []byte("Cpus_allowed_list:\tnonsense\n")}
	_, err = topology.Read(sys)
	require.Error(t, err)
	m, err = topology.ReadLive(sys, affinity)
	require.NoError(t, err)
	assert.Equal(t, mask, m.Allowed())
	assert.Contains(t, strings.Join(m.Warnings, "\n"), "the kernel's own answer counts")

	// If the kernel does not answer either, there is an error or a warning.
	refused := func() (cpuset.Set, error) { return cpuset.Set{}, fs.ErrPermission }
	_, err = topology.ReadLive(hidden, refused)
	require.ErrorIs(t, err, fs.ErrPermission)
	delete(sys, "proc/self/status")
	m, err = topology.ReadLive(sys, refused)
	require.NoError(t, err)
	assert.Equal(t, cpuset.Range(0, 3), m.Allowed())
	assert.Contains(t, strings.Join(m.Warnings, "\n"), "every online CPU is taken for ours")
}
