package topology_test

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/machine/topology"
	"gorun/internal/machine/topology/topologytest"
)

// damaged is a recording in which one file has other content or is absent.
type damaged struct {
	fs.FS
	name    string
	content []byte // nil: absent
}

// ReadFile implements fs.ReadFileFS.
func (d damaged) ReadFile(name string) ([]byte, error) {
	switch {
	case name != d.name:
		return fs.ReadFile(d.FS, name)
	case d.content == nil:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return d.content, nil
}

// decisive matches the files without which the present CPUs, or those of this process, may be unknown.
var decisive = regexp.MustCompile(`^(proc/self/status|sys/devices/system/cpu/(cpu[0-9]+/)?(online|present))$`)

// mayBeEmpty matches files that the kernel may leave empty, and meminfo, any of whose fields may be missing.
var mayBeEmpty = regexp.MustCompile(`/(isolated|nohz_full|meminfo|cpulist|cpus|has_(normal|high)_memory)$`)

// ways lists the ways to damage a file.
var ways = []struct {
	name, content string
	absent, sense bool // sense: content that another machine may have
}{
	{name: "absent", absent: true, sense: true},
	{name: "empty", content: "\n"},
	{name: "wrong number", content: "3\n", sense: true},
	{name: "negative", content: "-1\n", sense: true},
	{name: "contradictory", content: "0-1\n", sense: true},
	{name: "too many", content: "0-65535\n", sense: true},
	{name: "binary", content: "\x7fELF\x00\xff\xfe\n"},
	{name: "endless", content: strings.Repeat("9", 1<<18)},
}

// Each field, of four of the recorded machines that have it, is damaged in each way. The machine is still read, unless
// the file says which CPUs there are or which are allowed; and if a malformed file changes the result, there is a
// warning.
func TestReadOfDamagedFields(t *testing.T) {
	const most = 4 // machines for each field
	choose := rand.New(rand.NewPCG(1, 2))
	number := regexp.MustCompile("[0-9]+")
	archives := map[string]*txtar.Archive{}
	for _, host := range hosts.Names(t) {
		archives[host] = hosts.Archive(t, host)
	}
	order := slices.Sorted(maps.Keys(archives))
	choose.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	slices.SortStableFunc(order, func(a, b string) int { // the few with many files, which take long to read, come last
		large := func(host string) int { return len(archives[host].Files) / 400 }
		return large(a) - large(b)
	})
	times := map[string]int{} // machines tried so far, by field
	tried, refused, warned, unchanged := 0, 0, 0, 0
	for _, host := range order {
		fsys, err := txtar.FS(archives[host])
		require.NoError(t, err)
		whole, err := topology.Read(fsys)
		require.NoError(t, err)
		fields := map[string][]string{} // files by name without numbers
		for _, file := range archives[host].Files {
			field := number.ReplaceAllString(file.Name, "N")
			fields[field] = append(fields[field], file.Name)
		}
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			if times[field]++; times[field] > most {
				continue
			}
			name := fields[field][choose.IntN(len(fields[field]))]
			for _, way := range ways {
				d := damaged{FS: fsys, name: name, content: []byte(way.content)}
				if way.absent {
					d.content = nil
				}
				tried++
				m, err := topology.Read(d)
				if err != nil {
					refused++
					require.Regexp(t, decisive, name, "%s, %s: %v", host, way.name, err)
					continue
				}
				requireSound(t, m)
				warnings := m.Warnings
				m.Warnings = whole.Warnings
				switch {
				case len(warnings) > 0 && !slices.Equal(warnings, whole.Warnings):
					warned++
					for _, warning := range warnings {
						assert.Less(t, len(warning), 1000, "%s, %s %s", host, name, way.name)
						assert.NotContains(t, warning, "\x00")
					}
				case assert.ObjectsAreEqual(whole.Document(""), m.Document("")):
					unchanged++
				default:
					require.True(t, way.sense || mayBeEmpty.MatchString(name),
						"%s: no warning of %s, which is %s", host, name, way.name)
				}
			}
		}
	}
	t.Logf("%d fields: %d damaged machines tried, %d refused, %d with a warning, %d read as before",
		len(times), tried, refused, warned, unchanged)
	require.Positive(t, refused)
	require.Less(t, 20*refused, tried)
	require.Less(t, tried, 6*warned)
}

// Each file of a CPU's caches is damaged in each way, on each recorded machine and on a made one that has all files.
// At most that cache is lost, and malformed content gives a warning.
func TestReadCachesOfDamagedFields(t *testing.T) {
	made, err := topologytest.Large{CPUs: 4, Nodes: 1}.FS()
	require.NoError(t, err)
	machines := map[string]fs.FS{"made": made}
	for _, name := range hosts.Names(t) {
		machines[name] = hosts.Root(t, name)
	}
	for host, fsys := range machines {
		names, err := fs.Glob(fsys, "sys/devices/system/cpu/cpu0/cache/index*/*")
		require.NoError(t, err)
		whole, warnings := topology.ReadCaches(fsys, 0)
		require.Empty(t, warnings, host)
		for _, name := range names {
			for _, way := range ways {
				d := damaged{FS: fsys, name: name, content: []byte(way.content)}
				if way.absent {
					d.content = nil
				}
				caches, warnings := topology.ReadCaches(d, 0)
				kept := 0
				for _, c := range caches {
					if slices.Contains(whole, c) {
						kept++
					}
				}
				assert.GreaterOrEqual(t, kept, len(whole)-1, "%s: %s, %s", host, name, way.name)
				if !slices.Equal(caches, whole) && !way.sense {
					require.Len(t, warnings, 1, "%s: %s, %s", host, name, way.name)
				}
				for _, warning := range warnings {
					assert.True(t, strings.HasPrefix(warning, name+": malformed"), warning)
					assert.Less(t, len(warning), 1000)
				}
			}
		}
	}
}

// machineOf reads a machine from files below sys/devices/system.
func machineOf(t *testing.T, files map[string]string) (*topology.Machine, error) {
	t.Helper()
	fsys := fstest.MapFS{"sys/devices/system": {Mode: fs.ModeDir}}
	for name, content := range files {
		fsys["sys/devices/system/"+name] = &fstest.MapFile{Data: []byte(content + "\n")}
	}
	_, err := fs.ReadDir(fsys, "sys/devices/system/cpu")
	require.NoError(t, err)
	return topology.Read(fsys)
}

// A POWER9 machine has separate nodes for its GPUs' memory, and some kernels record less of them.
func TestReadKindsOfNodes(t *testing.T) {
	const all = "0,8,252-255"
	meminfo := func(files map[string]string) {
		for node, kB := range map[string]string{"0": "16777216", "8": "0", "252": "0", "253": "0", "254": "15728", "255": "15728"} {
			files["node/node"+node+"/meminfo"] = "Node " + node + " MemTotal: " + kB + " kB"
		}
	}
	words := map[string]string{
		topology.CPUsAndMemory: "both", topology.CPUsOnly: "CPUs", topology.MemoryOnly: "memory", topology.Neither: "neither",
	}
	for name, c := range map[string]struct {
		change func(map[string]string)
		want   string // of nodes 0, 8, 252, 253, 254, 255; + has normal memory, - has none
		warned string
	}{
		"today's kernel": {func(files map[string]string) {
			meminfo(files)
			files["node/has_memory"], files["node/has_normal_memory"] = "0,254-255", "0"
		}, "both+ CPUs neither neither memory- memory-", ""},
		"no lists": {meminfo, "both CPUs neither neither memory memory", ""},
		"no meminfo, of a kernel for 32 bits": {func(files map[string]string) {
			files["node/has_normal_memory"], files["node/has_high_memory"] = "0", "0,252"
		}, "both+ CPUs memory- neither neither neither", ""},
		"neither": {func(map[string]string) {}, "both both memory memory memory memory", ""},
		"odd lists": {func(files map[string]string) {
			meminfo(files)
			files["node/has_memory"], files["node/has_normal_memory"] = "some", "0"
		}, "both+ CPUs neither neither memory- memory-", "has_memory: malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{
				"cpu/present": "0-7", "cpu/online": "0-7",
				"node/online": all, "node/has_cpu": "0,8", "node/node0/cpulist": "0-3",
			}
			c.change(files)
			m, err := machineOf(t, files)
			require.NoError(t, err)
			requireSound(t, m)
			assert.Equal(t, "4-7", m.Nodes[1].CPUs.String(), "the only node with CPUs whose list is not recorded")
			var got []string
			for _, node := range m.Nodes {
				word := words[node.Kind]
				if normal := node.NormalMemory; normal != nil {
					word += map[bool]string{true: "+", false: "-"}[*normal]
				}
				got = append(got, word)
			}
			assert.Equal(t, c.want, strings.Join(got, " "))
			assert.Contains(t, strings.Join(m.Warnings, "\n"), c.warned)
		})
	}
}

// If several nodes list the same CPUs, each CPU is on the node that its directory links to.
func TestReadOfNodesThatListTheSameCPUs(t *testing.T) {
	files := map[string]string{"cpu/present": "0-3", "cpu/online": "0-3", "node/online": "0-2"}
	for _, node := range []string{"0", "1", "2"} {
		files["node/node"+node+"/cpulist"] = "0-3"
	}
	const warning = "CPUs 0-3 are listed by several nodes"
	own := "" // the CPUs of each node alone
	nodes := func() (nodes []int) {
		m, err := machineOf(t, files)
		require.NoError(t, err)
		requireSound(t, m)
		require.Contains(t, strings.Join(m.Warnings, "\n"), warning)
		for _, c := range m.CPUs {
			nodes = append(nodes, c.Node)
		}
		own = ""
		for _, node := range m.Nodes {
			require.Equal(t, "0-3", node.CPUs.String())
			own += m.OnNode(node).String() + ";"
		}
		return nodes
	}
	assert.Equal(t, []int{0, 0, 0, 0}, nodes(), "no links are recorded")
	assert.Equal(t, "0-3;;;", own)
	for _, link := range []string{"cpu0/node0", "cpu1/node1", "cpu2/node2", "cpu3/node1"} {
		files["cpu/"+link+"/cpulist"] = "0-3"
	}
	assert.Equal(t, []int{0, 1, 2, 1}, nodes())
	assert.Equal(t, "0;1,3;2;", own)
}

// written returns the files that the lines of a text name: "node/online = 0-1", and "0-3 topology/core_id = 0 1" for the file of
// each CPU of a list, which have these contents in turn.
func written(t *testing.T, text string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		names, content, _ := strings.Cut(line, " =")
		content = strings.TrimSpace(content)
		list, name, each := strings.Cut(names, " ")
		if !each {
			files[names] = content
			continue
		}
		cpus, err := cpuset.Parse(list)
		require.NoError(t, err)
		contents := strings.Split(content, " ")
		for i, cpu := range cpus.List() {
			files[fmt.Sprintf("cpu/cpu%d/%s", cpu, name)] = contents[i%len(contents)]
		}
	}
	return files
}

// Some architectures and kernels omit or misreport what others record.
func TestReadOfOddMachines(t *testing.T) {
	const four = "cpu/present = 0-3\ncpu/online = 0-3"
	for name, c := range map[string]struct {
		files  string
		want   topology.Counts
		warned []string
	}{
		"ia64: no lists, empty switches, an L3 that nobody shares": {
			`
0-1 online =
2-3 online = 1
0-3 topology/physical_package_id = 0 0 65535 65535
0-3 topology/core_siblings = 3 3 c c
0-3 topology/thread_siblings = 1 2 4 8
0-3 cache/index3/level = 3
0-3 cache/index3/type = Unified
0-3 cache/index3/shared_cpu_map = 0`,
			topology.Counts{CPUs: 4, Online: 4, Cores: 4, Packages: 2, Nodes: 1, LLCs: 2},
			[]string{`cpu0/online: malformed: "" is neither 0 nor 1`, `cpu0/cache/index3/shared_cpu_map: malformed`},
		},
		"ppc64: SMT8 with every second thread off, sparse nodes, a node without CPUs": {
			`
cpu/present = 0-15
cpu/online = 0,2,4,6,8,10,12,14
0-14:1/2 topology/physical_package_id = -1
0-6:1/2 topology/thread_siblings_list = 0,2,4,6
8-14:1/2 topology/thread_siblings_list = 8,10,12,14
0-6:1/2 topology/core_id = 8
8-14:1/2 topology/core_id = 2056
node/online = 0,8,252
node/node0/cpulist = 0-7
node/node8/cpulist = 8-15
node/node252/cpulist =`,
			topology.Counts{CPUs: 16, Online: 8, Cores: 2, Packages: 1, Nodes: 3, LLCs: 1},
			nil,
		},
		"s390: a drawer of books, whose sockets have the same number": {
			four + `
0-3 topology/physical_package_id = 1
0-3 topology/core_siblings_list = 0-1 0-1 2-3 2-3
0-3 topology/book_siblings_list = 0-1 0-1 2-3 2-3
0-3 topology/drawer_siblings_list = 0-3
0-3 topology/thread_siblings_list = 0 1 2 3`,
			topology.Counts{CPUs: 4, Online: 4, Cores: 4, Packages: 2, Nodes: 1, LLCs: 2},
			[]string{"physical_package_id: the kernel gives several packages the same number"},
		},
		"riscv: neither caches nor nodes, core numbers alone": {
			four + `
0-3 topology/core_id = 0 1 2 3
0-3 topology/physical_package_id = 0`,
			topology.Counts{CPUs: 4, Online: 4, Cores: 4, Packages: 1, Nodes: 1, LLCs: 1},
			[]string{"no cache is recorded"},
		},
		"loongarch: an L3 over two packages of one number each": {
			four + `
0-3 topology/physical_package_id = 0 0 1 1
0-3 topology/package_cpus_list = 0-1 0-1 2-3 2-3
0-3 topology/core_cpus_list = 0 1 2 3
0-3 cache/index3/level = 3
0-3 cache/index3/shared_cpu_list = 0-1 0-1 2-3 2-3
node/online = 0-1
node/node0/cpulist = 0-1
node/node1/cpulist = 2-3`,
			topology.Counts{CPUs: 4, Online: 4, Cores: 4, Packages: 2, Nodes: 2, LLCs: 2},
			nil,
		},
		"modules: two cores that the kernel has as threads of one": {
			four + `
0-3 topology/core_id = 0 1 0 1
0-3 topology/physical_package_id = 0 0 1 1
0-3 topology/thread_siblings_list = 0-1 0-1 2-3 2-3
0-3 topology/core_siblings_list = 0-1 0-1 2-3 2-3`,
			topology.Counts{CPUs: 4, Online: 4, Cores: 4, Packages: 2, Nodes: 1, LLCs: 2},
			[]string{"cpu0/topology/thread_siblings_list: malformed: the CPUs 0-1 have a core_id each"},
		},
		"an offline node whose CPUs are online": {
			four + `
0-3 topology/core_cpus_list = 0 1 2 3
0-3 topology/package_cpus_list = 0-3
node/online = 1
node/node1/cpulist = 1,3`,
			topology.Counts{CPUs: 4, Online: 4, Cores: 4, Packages: 1, Nodes: 1, LLCs: 1},
			[]string{"sys/devices/system/node: malformed: no node holds the online CPUs 0,2"},
		},
		"a cache whose list lacks the CPU and whose bitmap has it": {
			four + `
0-3 topology/core_cpus_list = 0 1 2 3
0-3 topology/package_cpus_list = 0-3
0-3 cache/index3/level = 3
0-3 cache/index3/shared_cpu_list = 0-1
0-3 cache/index3/shared_cpu_map = 3 3 c c`,
			topology.Counts{CPUs: 4, Online: 4, Cores: 4, Packages: 1, Nodes: 1, LLCs: 2},
			[]string{`cpu2/cache/index3/shared_cpu_list: malformed: CPU 2 is not among`, "(and 1 like it)"},
		},
		"one of many package files that says less": {
			four + `
0-3 topology/core_cpus_list = 0-3 1 2 3
0-3 topology/package_cpus_list = 0 0-3 0-3 0-3`,
			topology.Counts{CPUs: 4, Online: 4, Cores: 4, Packages: 1, Nodes: 1, LLCs: 1},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := machineOf(t, written(t, c.files))
			require.NoError(t, err)
			requireSound(t, m)
			assert.Equal(t, c.want, m.Counts(), "%q", m.Warnings)
			for _, want := range c.warned {
				assert.Contains(t, strings.Join(m.Warnings, "\n"), want)
			}
		})
	}
	_, err := machineOf(t, map[string]string{"cpu/present": "0-3", "cpu/online": "4-7"})
	assert.ErrorIs(t, err, sysfs.ErrMalformed, "no CPU that both lists have")
}
