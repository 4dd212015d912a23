package contend

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

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

// cpu-rollover is ccont's, whose page shows two nodes of four CPUs.
func TestRolloverIsDrawn(t *testing.T) {
	load, err := LookupLoad("cpu-rollover")
	require.NoError(t, err)
	for _, c := range []struct {
		nodes []NodeCPUs
		want  string
	}{
		{sized(4, 4), "**** ----\n***- *---\n**-- **--\n*--- ***-\n---- ****"},
		{sized(3, 3), "*** ---\n**- *--\n*-- **-\n--- ***"},
		{
			sized(4, 4, 4),
			"**** ---- ----\n***- *--- ----\n**-- **-- ----\n*--- **-- *---\n---- **-- **--\n---- *--- ***-\n---- ---- ****",
		},
		{
			sized(4, 4, 4, 4),
			"**** ---- ---- ----\n***- *--- ---- ----\n**-- **-- ---- ----\n*--- **-- *--- ----\n*--- *--- *--- *---\n" +
				"---- **-- *--- *---\n---- *--- **-- *---\n---- ---- **-- **--\n---- ---- *--- ***-\n---- ---- ---- ****",
		},
		{sized(1, 1, 1), "* - -\n- * -\n- - *"},
		{sized(3, 2), "**- --\n*-- *-\n--- **"},
		{sized(1, 4), "* ----\n- *---"},
		{sized(3), "***"},
	} {
		var lines []string
		for _, row := range Rows(Sweep{Ops: Ops[:1], Load: load, Nodes: c.nodes, DistBytes: []int{0}, MemNodes: []int{0}}) {
			lines = append(lines, row.Pattern)
		}
		assert.Equal(t, c.want, strings.Join(lines, "\n"))
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
		require.Equal(t, lists, rows["node-cascade"])
		require.Len(t, rows["cpu-increase"], len(all))
		for i, row := range rows["cpu-increase"] {
			require.Equal(t, all[:i+1], row, "the previous row, and one more")
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
