package contend

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/catalog"
	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/result"
	"gorun/internal/tests/hosts"
	"gorun/internal/topology"
)

// Nodes with alternating CPU numbers are drawn as separate groups, and the CPUs are those that the pattern marks.
func TestRowsOfInterleavedNodes(t *testing.T) {
	m := hosts.Machine(t, "snc")
	nodes, err := NodesOf(m, m.Allowed(), "")
	require.NoError(t, err)
	load, err := LookupLoad("cpu-rollover")
	require.NoError(t, err)
	rows := Rows(Options{Ops: Ops[:1], Load: load, Nodes: nodes, DistBytes: []int{0}, MemNodes: []int{0}, Arch: "amd64"})
	var lists []string
	for _, row := range rows {
		lists = append(lists, row.Pattern+" "+row.CPUList)
	}
	assert.Equal(t, []string{
		"**** ---- 0-1,4-5", "***- *--- 0-2,4", "**-- **-- 0-3", "*--- ***- 0,2-3,6", "---- **** 2-3,6-7",
	}, lists)
}

func TestRowsAreInOrder(t *testing.T) {
	ops, err := ParseOps("xadd,inc", "arm64")
	require.NoError(t, err)
	load, err := LookupLoad("node-cascade")
	require.NoError(t, err)
	o := Options{
		Ops: ops, Load: load, Nodes: sized(1, 2), DistBytes: []int{64, 0}, MemNodes: []int{3, 5},
		Arch: "arm64", Variant: LLSC,
	}
	rows := Rows(o)
	require.Len(t, rows, 2*2*2*2)
	var order []string
	for i, row := range rows {
		assert.Equal(t, i, row.Row)
		order = append(order, row.Op+" "+map[int]string{0: "0", 64: "64"}[row.DistBytes]+" "+
			map[int]string{3: "3", 5: "5"}[row.MemNode]+" "+row.Pattern)
	}
	assert.Equal(t, []string{
		"xadd 64 3 * --", "xadd 64 3 - **", "xadd 64 5 * --", "xadd 64 5 - **",
		"xadd 0 3 * --", "xadd 0 3 - **", "xadd 0 5 * --", "xadd 0 5 - **",
	}, order[:8])
	assert.Equal(t, "inc 64 3 * --", order[8])
	inc, err := catalog.Find(Ops[:], "operation", "inc")
	require.NoError(t, err)
	assert.Equal(t, result.ContendRow{
		Row: 9, Op: "inc", Instruction: inc.ARM64LLSC, Load: "node-cascade", CPUs: 2, CPUList: "1-2", Pattern: "- **",
		DistBytes: 64, MemNode: 3,
	}, rows[9])

	o.MemNodes, o.MemLocal = nil, true
	rows = Rows(o)
	require.Len(t, rows, 2*2*2)
	assert.Equal(t, 0, rows[0].MemNode)
	assert.Equal(t, 3, rows[1].MemNode)
	o.Load, err = LookupLoad("one-iteration")
	require.NoError(t, err)
	assert.Equal(t, 0, Rows(o)[0].MemNode, "of the row's first CPU")
}

// Every captured machine has rows, and they run only on allowed CPUs.
func TestRowsOfEveryMachine(t *testing.T) {
	for name, m := range hosts.All(t) {
		nodes, err := NodesOf(m, m.Allowed(), "")
		require.NoError(t, err, name)
		memNodes, local, err := ParseMemNode("", m, nodes)
		require.NoError(t, err, name)
		require.Len(t, memNodes, 1, name)
		require.False(t, local)
		for _, load := range Loads {
			ran := cpuset.Set{}
			for _, row := range Rows(Options{
				Ops: Ops[:2], Load: load, Nodes: nodes, DistBytes: []int{0}, MemNodes: memNodes, Arch: "amd64",
			}) {
				cpus, err := cpuset.Parse(row.CPUList)
				require.NoError(t, err)
				assert.Equal(t, row.CPUs, cpus.Len())
				assert.Equal(t, row.CPUs, strings.Count(row.Pattern, "*"))
				assert.Equal(t, m.Allowed().Len(), len(strings.ReplaceAll(row.Pattern, " ", "")), "%s %s", name, load.Name)
				assert.Len(t, strings.Fields(row.Pattern), len(nodes))
				ran = ran.Union(cpus)
			}
			assert.True(t, ran.Minus(m.Allowed()).Empty())
			if load.Name != "cpu-rollover" { // as many CPUs as the smallest node has
				assert.Equal(t, m.Allowed(), ran, "%s %s", name, load.Name)
			}
		}
	}
}

func TestNodesOf(t *testing.T) {
	for _, c := range []struct {
		host, cpus, list string
		want             []NodeCPUs
	}{
		{"qemu-numa2", "0-7", "1", []NodeCPUs{{1, []int{4, 5, 6, 7}}}},
		{"qemu-numa2", "0-7", "1,0", []NodeCPUs{{0, []int{0, 1, 2, 3}}, {1, []int{4, 5, 6, 7}}}},
		{"qemu-numa2", "1,5-6", "", []NodeCPUs{{0, []int{1}}, {1, []int{5, 6}}}},
		{"qemu-numa2", "5", "", []NodeCPUs{{1, []int{5}}}},
		{"sparse-ids", "0,4,72", "0-8:1/8", []NodeCPUs{{0, []int{0, 4}}, {8, []int{72}}}},
		{"cxl-memory", "0-3", "", []NodeCPUs{{0, []int{0, 1, 2, 3}}}},
		{"qemu-cpuless", "0-3", "0", []NodeCPUs{{0, []int{0, 1, 2, 3}}}},
		{"fake-numa", "1-3", "", []NodeCPUs{{0, []int{1, 2, 3}}}},
		{"offline-middle", "0-7", "", []NodeCPUs{{0, []int{0, 1, 3}}, {1, []int{4, 6, 7}}}},
		{"memoryless-node", "0-3", "1", []NodeCPUs{{1, []int{2, 3}}}},
	} {
		cpus, err := cpuset.Parse(c.cpus)
		require.NoError(t, err)
		nodes, err := NodesOf(hosts.Machine(t, c.host), cpus, c.list)
		require.NoError(t, err, "%s %s", c.host, c.list)
		assert.Equal(t, c.want, nodes, "%s %s %q", c.host, c.cpus, c.list)
	}
}

func TestNodesOfErrors(t *testing.T) {
	for _, c := range []struct{ host, cpus, list, want, hint string }{
		{"qemu-numa2", "0-7", "0,2", "this machine has no node 2", "it has nodes 0-1"},
		{"qemu-numa2", "0-3", "0-1", "node 1 has none of the run's CPUs 0-3", "the run has CPUs on nodes 0"},
		{"cxl-memory", "0-3", "2", "node 2 has none of the run's CPUs 0-3", "the run has CPUs on nodes 0"},
		{
			"qemu-numa2", "0-7", "one", `"one" is not a list of nodes`,
			"write numbers, ranges, near:DEVICE or far:DEVICE, joined by commas; this machine has nodes 0-1",
		},
		{"qemu-numa2", "", "", "the run has no CPU", ""},
	} {
		cpus, err := cpuset.Parse(c.cpus)
		require.NoError(t, err)
		_, err = NodesOf(hosts.Machine(t, c.host), cpus, c.list)
		require.EqualError(t, err, c.want)
		assert.Equal(t, c.hint, hint.Of(err))
	}
}

// firstMemoryless returns a machine whose node 0 has no memory.
func firstMemoryless(t *testing.T) *topology.Machine {
	m := hosts.Machine(t, "memoryless-node")
	a, b := &m.Nodes[0], &m.Nodes[1]
	a.MemoryBytes, b.MemoryBytes, a.Kind, b.Kind = b.MemoryBytes, a.MemoryBytes, b.Kind, a.Kind
	return m
}

func TestParseMemNode(t *testing.T) {
	for _, c := range []struct {
		m     *topology.Machine
		text  string
		want  []int
		local bool
	}{
		{hosts.Machine(t, "qemu-numa2"), "", []int{0}, false},
		{hosts.Machine(t, "qemu-numa2"), "1", []int{1}, false},
		{hosts.Machine(t, "qemu-numa2"), "1,0", []int{0, 1}, false},
		{hosts.Machine(t, "qemu-numa2"), "all", []int{0, 1}, false},
		{hosts.Machine(t, "devices"), "near:ens5,far:ens5", []int{0, 1, 3}, false},
		{hosts.Machine(t, "qemu-numa2"), "local", nil, true},
		{hosts.Machine(t, "cxl-memory"), "all", []int{0, 2}, false},
		{hosts.Machine(t, "cxl-memory"), "2", []int{2}, false},
		{hosts.Machine(t, "memoryless-node"), "", []int{0}, false},
		{hosts.Machine(t, "memoryless-node"), "all", []int{0}, false},
		{firstMemoryless(t), "", []int{1}, false},
		{firstMemoryless(t), "all", []int{1}, false},
		{hosts.Machine(t, "gaps"), "1", []int{1}, false},
		{hosts.Machine(t, "arm-biglittle"), "", []int{0}, false},
	} {
		nodes, err := NodesOf(c.m, c.m.Allowed(), "")
		require.NoError(t, err)
		memNodes, local, err := ParseMemNode(c.text, c.m, nodes)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, memNodes, c.text)
		assert.Equal(t, c.local, local, c.text)
	}
}

func TestParseMemNodeErrors(t *testing.T) {
	for _, c := range []struct{ host, text, want, hint string }{
		{
			"qemu-numa2", "local,1", `"local,1" is not a list of nodes`,
			"write numbers, ranges, near:DEVICE or far:DEVICE, joined by commas; this machine has nodes 0-1",
		},
		{"memoryless-node", "1", "node 1 has no memory", "give --mem-node one with memory: 0"},
		{"memoryless-node", "0-1", "node 1 has no memory", "give --mem-node one with memory: 0"},
		{"memoryless-node", "local", "node 1 has no memory", "give --mem-node one with memory: 0"},
	} {
		m := hosts.Machine(t, c.host)
		nodes, err := NodesOf(m, m.Allowed(), "")
		require.NoError(t, err)
		_, _, err = ParseMemNode(c.text, m, nodes)
		require.EqualError(t, err, c.want)
		assert.Equal(t, c.hint, hint.Of(err))
	}

	m := hosts.Machine(t, "memoryless-node")
	nodes, err := NodesOf(m, m.Allowed(), "0")
	require.NoError(t, err)
	_, local, err := ParseMemNode("local", m, nodes)
	require.NoError(t, err, "the run is only on nodes with memory")
	assert.True(t, local)
}

// --dist has the units of ccont: words by CPU * distance, and bits by CPU << distance.
func TestDist(t *testing.T) {
	var ops []Op
	for _, name := range []string{"xadd", "set_bit"} {
		op, err := catalog.Find(Ops[:], "operation", name)
		require.NoError(t, err)
		ops = append(ops, op)
	}
	load, err := LookupLoad("one-iteration")
	require.NoError(t, err)
	rows := Rows(Options{
		Ops: ops, Load: load, Nodes: sized(4), DistBytes: nil, Dist: []int{0, 2, 8}, MemNodes: []int{0}, Arch: "amd64",
	})
	require.Len(t, rows, 6)
	for i, want := range []struct {
		is    string
		bytes int
		at    [4]int // of CPUs 0, 1, 3 and 63
	}{
		{"word CPU×0", 0, [4]int{0, 0, 0, 0}},
		{"word CPU×2", 16, [4]int{0, 16, 48, 63 * 16}},
		{"word CPU×8", 64, [4]int{0, 64, 192, 63 * 64}},
		{"bit CPU<<0", 0, [4]int{0, 0, 0, 0}},      // bits 0 to 63 are in one word
		{"bit CPU<<2", 0, [4]int{0, 0, 0, 24}},     // bit 252 is in the fourth word
		{"bit CPU<<8", 0, [4]int{0, 32, 96, 2016}}, // 256 bits apart, which is 32 bytes
	} {
		assert.Equal(t, want.is, distance(rows[i]))
		assert.Equal(t, want.bytes, rows[i].DistBytes)
		for n, cpu := range []int{0, 1, 3, 63} {
			assert.Equal(t, want.at[n], offset(rows[i], 9, cpu), "%s, CPU %d", want.is, cpu)
		}
	}
	assert.Equal(t, 9*64, offset(result.ContendRow{DistBytes: 64}, 9, 3), "--dist-bytes goes by the place in the row")
	assert.Equal(t, 3*64+4*LineBytes, wordsBytes(rows[2], []int{0, 3}))
}

func TestParseDistances(t *testing.T) {
	for _, c := range []struct {
		words, bytes string
		dists, want  []int
	}{
		{"", "", nil, []int{0}},
		{"0", "", []int{0}, nil},
		{"8,0, 1,8", "", []int{8, 0, 1}, nil},
		{"", "0,8,64,4096,8", nil, []int{0, 8, 64, 4096}},
	} {
		dists, got, err := ParseDistances(c.words, c.bytes)
		require.NoError(t, err)
		assert.Equal(t, c.dists, dists)
		assert.Equal(t, c.want, got)
	}
	for _, c := range []struct{ words, bytes, want, hint string }{
		{"9", "", `--dist "9" is not a distance`, "write numbers from 0 to 8, joined by commas"},
		{"-1", "", `--dist "-1" is not a distance`, "write numbers from 0 to 8, joined by commas"},
		{"0,,1", "", `--dist "" is not a distance`, "write numbers from 0 to 8, joined by commas"},
		{"", "12", `--dist-bytes "12" is not a distance`, "write multiples of 8 from 0 to 4096, joined by commas"},
		{"", "4104", `--dist-bytes "4104" is not a distance`, "write multiples of 8 from 0 to 4096, joined by commas"},
		{"", "x", `--dist-bytes "x" is not a distance`, "write multiples of 8 from 0 to 4096, joined by commas"},
		{"1", "8", "--dist and --dist-bytes exclude each other: give one of them", ""},
	} {
		_, _, err := ParseDistances(c.words, c.bytes)
		require.EqualError(t, err, c.want)
		assert.Equal(t, c.hint, hint.Of(err))
	}
}
