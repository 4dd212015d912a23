package contend

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/catalog"
	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/result"
)

// Nodes with alternating CPU numbers are drawn as separate groups, and the pattern marks the CPUs of the row.
func TestRowsOfInterleavedNodes(t *testing.T) {
	m := hosts.Machine(t, "snc")
	nodes, err := nodesOf(m, m.Allowed(), "")
	require.NoError(t, err)
	load, err := LookupLoad("cpu-rollover")
	require.NoError(t, err)
	rows := Rows(Sweep{Ops: Ops[:1], Load: load, Nodes: nodes, DistBytes: []int{0}, MemNodes: []int{0}})
	var lists []string
	for _, row := range rows {
		lists = append(lists, row.Pattern+" "+row.CPUList)
	}
	assert.Equal(t, []string{
		"**** ---- 0-1,4-5", "***- *--- 0-2,4", "**-- **-- 0-3", "*--- ***- 0,2-3,6", "---- **** 2-3,6-7",
	}, lists)
}

func TestRowsAreInOrder(t *testing.T) {
	ops, err := parseOps("xadd,inc")
	require.NoError(t, err)
	load, err := LookupLoad("node-cascade")
	require.NoError(t, err)
	o := Sweep{Ops: ops, Load: load, Nodes: sized(1, 2), DistBytes: []int{64, 0}, MemNodes: []int{3, 5}}
	var order []string
	rows := Rows(o)
	for i, row := range rows {
		assert.Equal(t, i, row.Row)
		order = append(order, fmt.Sprintf("%s %d %d %s", row.Op, row.DistBytes, row.MemNode, row.Pattern))
	}
	assert.Equal(t, []string{
		"xadd 64 3 * --", "xadd 64 3 - **", "xadd 64 5 * --", "xadd 64 5 - **",
		"xadd 0 3 * --", "xadd 0 3 - **", "xadd 0 5 * --", "xadd 0 5 - **",
	}, order[:8])
	require.Len(t, rows, 2*8)
	assert.Equal(t, result.ContendRow{
		Row: 9, Op: "inc", Instruction: ops[1].Instruction(runtime.GOARCH, ""), Load: "node-cascade", CPUs: 2, CPUList: "1-2",
		Pattern: "- **", DistBytes: 64, MemNode: 3,
	}, rows[9])

	o.MemNodes = []int{ofFirstCPU}
	rows = Rows(o)
	require.Len(t, rows, 2*2*2)
	assert.Equal(t, []int{0, 3}, []int{rows[0].MemNode, rows[1].MemNode})
	o.Load, err = LookupLoad("one-iteration")
	require.NoError(t, err)
	assert.Equal(t, 0, Rows(o)[0].MemNode)
}

func TestNodesOf(t *testing.T) {
	for _, c := range []struct {
		host, cpus, list string
		want             []NodeCPUs
	}{
		{"qemu-numa2", "0-7", "1", []NodeCPUs{{1, []int{4, 5, 6, 7}}}},
		{"qemu-numa2", "1,5-6", "", []NodeCPUs{{0, []int{1}}, {1, []int{5, 6}}}},
		{"sparse-ids", "0,4,72", "0-8:1/8", []NodeCPUs{{0, []int{0, 4}}, {8, []int{72}}}},
		{"cxl-memory", "0-3", "", []NodeCPUs{{0, []int{0, 1, 2, 3}}}},
		{"fake-numa", "1-3", "", []NodeCPUs{{0, []int{1, 2, 3}}}},
		{"offline-middle", "0-7", "", []NodeCPUs{{0, []int{0, 1, 3}}, {1, []int{4, 6, 7}}}},
		{"memoryless-node", "0-3", "1", []NodeCPUs{{1, []int{2, 3}}}},
	} {
		cpus, err := cpuset.Parse(c.cpus)
		require.NoError(t, err)
		nodes, err := nodesOf(hosts.Machine(t, c.host), cpus, c.list)
		require.NoError(t, err, "%s %s", c.host, c.list)
		assert.Equal(t, c.want, nodes, "%s %s %q", c.host, c.cpus, c.list)
	}
	_, err := nodesOf(hosts.Machine(t, "qemu-numa2"), cpuset.Range(0, 3), "0-1")
	require.EqualError(t, err, "node 1 has none of the run's CPUs 0-3")
	_, err = nodesOf(hosts.Machine(t, "qemu-numa2"), cpuset.Set{}, "")
	require.EqualError(t, err, "no node has a CPU of the run")
}

func TestParseMemNodes(t *testing.T) {
	for _, c := range []struct {
		host, text string
		want       []int
	}{
		{"qemu-numa2", "", []int{0}},
		{"qemu-numa2", "1,0", []int{0, 1}},
		{"qemu-numa2", "all", []int{0, 1}},
		{"qemu-numa2", "local", []int{ofFirstCPU}},
		{"cxl-memory", "all", []int{0, 2}},
		{"memoryless-node", "all", []int{0}},
	} {
		m := hosts.Machine(t, c.host)
		nodes, err := nodesOf(m, m.Allowed(), "")
		require.NoError(t, err)
		memNodes, err := parseMemNodes(c.text, m, nodes)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, memNodes, c.text)
	}
	m := hosts.Machine(t, "memoryless-node")
	for list, lacks := range map[string]bool{"": true, "0": false, "1": true} {
		nodes, err := nodesOf(m, m.Allowed(), list)
		require.NoError(t, err)
		_, err = parseMemNodes("local", m, nodes)
		assert.Equal(t, lacks, err != nil, "the CPUs of nodes %s", list)
	}
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
	rows := Rows(Sweep{
		Ops: ops, Load: load, Nodes: sized(4), DistBytes: nil, Dist: []int{0, 2, 8}, MemNodes: []int{0},
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

func TestParseMultiples(t *testing.T) {
	for list, want := range map[string][]int{"0": {0}, "8,0, 16,8": {8, 0, 16}, "12": nil, "40": nil, "-8": nil, "0,,8": nil, "x": nil} {
		got, err := parseMultiples(8, 32)(list)
		assert.Equal(t, want, got, list)
		assert.Equal(t, want == nil, err != nil, list)
	}
}
