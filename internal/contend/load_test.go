package contend

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLookupLoad(t *testing.T) {
	for _, load := range Loads {
		got, err := LookupLoad(load.Name)
		require.NoError(t, err)
		assert.Equal(t, load.Usage, got.Usage)
	}
	_, err := LookupLoad("cascade")
	assert.EqualError(t, err,
		`unknown load "cascade": there are one-iteration, cpu-increase, node-cascade, cpu-rollover`)
}

// sized returns nodes of these sizes, with consecutive CPUs and gaps in the node numbers.
func sized(sizes ...int) []NodeCPUs {
	var nodes []NodeCPUs
	cpu := 0
	for i, size := range sizes {
		node := NodeCPUs{Node: 3 * i}
		for range size {
			node.CPUs = append(node.CPUs, cpu)
			cpu++
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// drawn returns the patterns of a load, one per line.
func drawn(t require.TestingT, load string, nodes []NodeCPUs) string {
	l, err := LookupLoad(load)
	require.NoError(t, err)
	var lines []string
	for _, row := range Rows(Options{Ops: Ops[:1], Load: l, Nodes: nodes, DistBytes: []int{0}, MemNodes: []int{0}}) {
		lines = append(lines, row.Pattern)
	}
	return strings.Join(lines, "\n")
}

func TestLoadsAreDrawn(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes []NodeCPUs
		load  string
		want  string
	}{
		{"2 nodes of 4", sized(4, 4), "one-iteration", "**** ****"},
		{
			"2 nodes of 4", sized(4, 4), "cpu-increase",
			"*--- ----\n**-- ----\n***- ----\n**** ----\n**** *---\n**** **--\n**** ***-\n**** ****",
		},
		{"2 nodes of 4", sized(4, 4), "node-cascade", "**** ----\n---- ****"},
		{"2 nodes of 4", sized(4, 4), "cpu-rollover", "**** ----\n***- *---\n**-- **--\n*--- ***-\n---- ****"},

		{"2 nodes of 3", sized(3, 3), "cpu-rollover", "*** ---\n**- *--\n*-- **-\n--- ***"},

		{
			"3 nodes of 4", sized(4, 4, 4), "cpu-rollover",
			"**** ---- ----\n***- *--- ----\n**-- **-- ----\n*--- **-- *---\n---- **-- **--\n---- *--- ***-\n---- ---- ****",
		},
		{
			"4 nodes of 4", sized(4, 4, 4, 4), "cpu-rollover",
			"**** ---- ---- ----\n***- *--- ---- ----\n**-- **-- ---- ----\n*--- **-- *--- ----\n*--- *--- *--- *---\n" +
				"---- **-- *--- *---\n---- *--- **-- *---\n---- ---- **-- **--\n---- ---- *--- ***-\n---- ---- ---- ****",
		},
		{"3 nodes of 2", sized(2, 2, 2), "cpu-rollover", "** -- --\n*- *- --\n-- *- *-\n-- -- **"},
		{"nodes of 1", sized(1, 1, 1), "cpu-rollover", "* - -\n- * -\n- - *"},
		{"nodes of 1", sized(1, 1), "cpu-increase", "* -\n* *"},
		{"nodes of 3 and 2", sized(3, 2), "cpu-rollover", "**- --\n*-- *-\n--- **"},
		{"nodes of 1 and 4", sized(1, 4), "cpu-rollover", "* ----\n- *---"},
		{"nodes of 2 and 4", sized(2, 4), "node-cascade", "** ----\n-- ****"},
		{"nodes of 3 and 1", sized(3, 1), "cpu-increase", "*-- -\n**- -\n*** -\n*** *"},

		{"1 node", sized(3), "one-iteration", "***"},
		{"1 node", sized(3), "cpu-increase", "*--\n**-\n***"},
		{"1 node", sized(3), "node-cascade", "***"},
		{"1 node", sized(3), "cpu-rollover", "***"},
		{"1 CPU", sized(1), "cpu-rollover", "*"},
		{"1 CPU", sized(1), "cpu-increase", "*"},
	} {
		assert.Equal(t, c.want, drawn(t, c.load, c.nodes), "%s, %s", c.load, c.name)
	}
}

// The properties of the patterns hold for any nodes.
func TestLoadsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := sized(rapid.SliceOfN(rapid.IntRange(1, 9), 1, 6).Draw(t, "sizes")...)
		var all, sizes []int
		lists := make([][]int, len(nodes))
		nodeOf := map[int]int{}
		for i, node := range nodes {
			lists[i] = node.CPUs
			all = append(all, node.CPUs...)
			sizes = append(sizes, len(node.CPUs))
			for _, cpu := range node.CPUs {
				nodeOf[cpu] = i
			}
		}
		rows := map[string][][]int{}
		for _, load := range Loads {
			rows[load.Name] = load.rows(lists)
			for _, row := range rows[load.Name] {
				require.NotEmpty(t, row)
				require.Subset(t, all, row)
				require.Len(t, slices.Compact(slices.Clone(row)), len(row), "ascending and distinct")
				require.True(t, slices.IsSorted(row))
			}
		}

		require.Equal(t, [][]int{all}, rows["one-iteration"])

		require.Len(t, rows["cpu-increase"], len(all))
		for i, row := range rows["cpu-increase"] {
			require.Len(t, row, i+1)
			require.Equal(t, all[:i], row[:i], "the previous row, and one more")
		}

		require.Equal(t, all, slices.Concat(rows["node-cascade"]...))
		for i, row := range rows["node-cascade"] {
			require.Len(t, row, sizes[i])
		}

		// From row to row one CPU is replaced, from the first node to the last.
		burning := slices.Min(sizes)
		rolled := rows["cpu-rollover"]
		require.Equal(t, nodes[0].CPUs[:burning], rolled[0])
		require.Equal(t, nodes[len(nodes)-1].CPUs[:burning], rolled[len(rolled)-1])
		for i, row := range rolled {
			require.Len(t, row, burning)
			if i > 0 {
				gone := 0
				for _, cpu := range rolled[i-1] {
					if !slices.Contains(row, cpu) {
						gone++
					}
				}
				require.Equal(t, 1, gone)
			}
		}

		// One row has an even share on every node.
		require.True(t, slices.ContainsFunc(rows["cpu-rollover"], func(row []int) bool {
			counts := make([]int, len(nodes))
			for _, cpu := range row {
				counts[nodeOf[cpu]]++
			}
			return slices.Min(counts) == burning/len(nodes) && slices.Max(counts)-slices.Min(counts) <= 1
		}))
	})
}
