package numa

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/cpuset"
	"gorun/internal/experiment"
	"gorun/internal/result"
	"gorun/internal/sysfs"
	"gorun/internal/topology"
)

// recorded returns a captured machine of testdata/hosts.
func recorded(t testing.TB, name string) *topology.Machine {
	t.Helper()
	fsys, err := sysfs.OpenRoot("../../testdata/hosts/" + name + ".txtar")
	require.NoError(t, err)
	m, err := topology.Read(fsys)
	require.NoError(t, err)
	return m
}

// everyRecorded returns all captured machines by name.
func everyRecorded(t testing.TB) map[string]*topology.Machine {
	t.Helper()
	files, err := filepath.Glob("../../testdata/hosts/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string]*topology.Machine{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		all[name] = recorded(t, name)
	}
	return all
}

// label formats a row as in the RFC's table.
func label(row result.NumaRow) string {
	node := func(n int) string {
		if n == Float {
			return "F"
		}
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("[%02d] PNID: %d NB: %d Mem: %s CPU: %s",
		row.Row, row.PreferredNode, row.NUMABalancing, node(row.Mem), node(row.CPU))
}

func labels(rows []result.NumaRow) []string {
	all := make([]string, len(rows))
	for i, row := range rows {
		all[i] = label(row)
	}
	return all
}

// published36 reads a table of the RFC, with rows in the form of label.
func published36(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".txt")
	require.NoError(t, err)
	var rows []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		require.Len(t, f, 9)
		rows = append(rows, fmt.Sprintf("[%s] PNID: %s NB: %s Mem: %s CPU: %s", f[0], f[5], f[6], f[7], f[8]))
	}
	return rows
}

// axesOf returns the axes of a machine with these flags; "" is a flag's default.
func axesOf(t require.TestingT, m *topology.Machine, mem, cpu, balancing, preferred string) Axes {
	a := Axes{Buffers: []uint64{1 << 20}, Pages: []string{"4k"}, Access: []string{"random"}, PreferredBy: ByPrctl}
	a.MemPolicy, a.FirstTouch = []string{""}, []string{""}
	a.ScanDelay, a.MigrationCost = []float64{0}, []float64{0}
	var err error
	a.Mem, err = ParseMem(mem, m)
	require.NoError(t, err)
	a.CPU, err = ParseCPU(cpu, m, m.Allowed())
	require.NoError(t, err)
	a.NUMABalancing, err = ParseBalancing(balancing)
	require.NoError(t, err)
	a.PreferredNode, err = ParsePreferred(preferred, a.PreferredBy, m, m.Allowed())
	require.NoError(t, err)
	return a
}

// On a machine with two nodes the defaults are the RFC's rows, number by number. On one with eight, whose table has
// two of the nodes, these nodes by name in any order give the RFC's rows.
func TestRowsOfTheReference(t *testing.T) {
	two := recorded(t, "qemu-numa2")
	got := labels(Rows(axesOf(t, two, "", "", "0,1", "")))
	require.Len(t, got, 36)
	assert.Equal(t, published36(t, "rfc-intel"), got)

	eight := recorded(t, "qemu-epyc8")
	assert.Equal(t, published36(t, "rfc-amd"),
		labels(Rows(axesOf(t, eight, "float,1,0", "0-1,float", "1,0", "1,0,none"))))
	assert.Len(t, Rows(axesOf(t, eight, "", "", "0,1", "")), (2+8)*9*9)
}

func TestRowsOfOtherAxes(t *testing.T) {
	m := recorded(t, "qemu-numa2")
	for _, c := range []struct {
		mem, cpu, balancing, preferred string
		want                           []string
	}{
		{"0", "float", "keep", "none", []string{"[00] PNID: -1 NB: -1 Mem: 0 CPU: F"}},
		{"0", "1", "0", "none,1", []string{"[00] PNID: -1 NB: 0 Mem: 0 CPU: 1", "[01] PNID: 1 NB: 0 Mem: 0 CPU: 1"}},
		{"1", "1", "keep,1", "0", []string{"[00] PNID: 0 NB: 1 Mem: 1 CPU: 1"}},
		{
			"float", "float", "keep,0", "none,0",
			[]string{
				"[00] PNID: -1 NB: 0 Mem: F CPU: F", "[01] PNID: -1 NB: -1 Mem: F CPU: F", "[02] PNID: 0 NB: 0 Mem: F CPU: F",
			},
		},
	} {
		assert.Equal(t, c.want, labels(Rows(axesOf(t, m, c.mem, c.cpu, c.balancing, c.preferred))))
	}
	one := recorded(t, "qemu-cpu2")
	assert.Len(t, Rows(axesOf(t, one, "", "", "0,1", "")), 3*4, "the axes that one node has")
}

// The times of the scheduler are axes of their own. Without NUMA balancing there are no scans to delay.
func TestRowsOfKnobs(t *testing.T) {
	a := axesOf(t, recorded(t, "qemu-numa2"), "0", "0", "0,1", "none")
	a.ScanDelay, a.MigrationCost = []float64{0.05, 0}, []float64{0, 50e-6}
	var got [][3]float64
	for _, row := range Rows(a) {
		got = append(got, [3]float64{row.MigrationCost, float64(row.NUMABalancing), row.ScanDelay})
	}
	assert.Equal(t, [][3]float64{
		{0, 0, 0}, {0, 1, 0.05}, {0, 1, 0}, {50e-6, 0, 0}, {50e-6, 1, 0.05}, {50e-6, 1, 0},
	}, got)
}

// A machine with many nodes has few rows by default: one for each distance from the memory's node.
func TestRowsOfManyNodes(t *testing.T) {
	rowsOf := func(m *topology.Machine, cpus cpuset.Set, given map[string]string) []result.NumaRow {
		f := &flags{}
		set := experiment.NewFlagSet("numa")
		f.Register(set)
		for flag, value := range given {
			require.NoError(t, set.Set(flag, value))
		}
		axes, err := f.axes(experiment.Machine{Machine: m, CPUs: cpus})
		require.NoError(t, err)
		return Rows(axes)
	}
	nodes := func(rows []result.NumaRow, of func(row result.NumaRow) int) []int {
		all := make([]int, len(rows))
		for i, row := range rows {
			all[i] = of(row)
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	mem := func(row result.NumaRow) int { return row.Mem }
	cpu := func(row result.NumaRow) int { return row.CPU }
	preferred := func(row result.NumaRow) int { return row.PreferredNode }

	eight := recorded(t, "qemu-epyc8")
	for _, c := range []struct {
		given               map[string]string
		cpus                cpuset.Set
		mem, cpu, preferred []int
		rows                int
	}{
		{nil, eight.Allowed(), []int{-1, 0}, []int{-1, 0, 1, 4}, []int{-1, 0, 4}, (2 + 2) * 2 * 4},
		{
			map[string]string{"mem": "5,float"},
			eight.Allowed(),
			[]int{-1, 5},
			[]int{-1, 0, 4, 5},
			[]int{-1, 0, 5},
			(2 + 2) * 2 * 4,
		},
		{
			map[string]string{"cpu": "3"},
			eight.Allowed(),
			[]int{-1, 0, 3, 4},
			[]int{3},
			[]int{-1, 3, 4},
			(2 + 2) * 4 * 1,
		},
		{nil, nodeCPUs(eight, 6, eight.Allowed()), []int{-1, 0, 4, 6}, []int{-1, 6}, []int{-1, 6}, (2 + 1) * 4 * 2},
		{
			map[string]string{"mem": "all"},
			eight.Allowed(),
			[]int{-1, 0, 1, 2, 3, 4, 5, 6, 7},
			[]int{-1, 0, 1, 4},
			[]int{-1, 0, 4},
			4 * 9 * 4,
		},
	} {
		rows := rowsOf(eight, c.cpus, c.given)
		assert.Equal(t, c.mem, nodes(rows, mem), "%v", c.given)
		assert.Equal(t, c.cpu, nodes(rows, cpu), "%v", c.given)
		assert.Equal(t, c.preferred, nodes(rows, preferred), "%v", c.given)
		assert.Len(t, rows, c.rows, "%v", c.given)
	}
	assert.Len(t, rowsOf(eight, eight.Allowed(), map[string]string{"rows": "all"}), (2+8)*9*9)
	two := recorded(t, "qemu-numa2")
	assert.Equal(t, published36(t, "rfc-intel"), labels(rowsOf(two, two.Allowed(), nil)))

	for name, m := range everyRecorded(t) {
		rows := rowsOf(m, m.Allowed(), nil)
		require.NotEmpty(t, rows, name)
		assert.LessOrEqual(t, len(rows), 60, name)
		for node := range withMemory(m).All() { // where the memory lies, a probe is on the same node and on another one
			if len(m.Nodes) > fewNodes && withCPUs(m, m.Allowed()).Contains(node) {
				assert.True(t, slices.ContainsFunc(rows, func(row result.NumaRow) bool { return row.Mem == row.CPU }), name)
				assert.True(t, slices.ContainsFunc(rows, func(row result.NumaRow) bool {
					return row.Mem != row.CPU && row.Mem >= 0 && row.CPU >= 0
				}), name)
			}
		}
	}
}

// If distances are unknown, a node itself is near and another one far.
func TestByDistance(t *testing.T) {
	m := &topology.Machine{Nodes: []topology.Node{{Node: 0}, {Node: 3}, {Node: 5}}}
	assert.Equal(t, []int{3, 0}, byDistance(m, 3, []int{0, 3, 5}))
	m.Nodes[1].Distances = []int{20, 10, 15}
	assert.Equal(t, []int{3, 5, 0}, byDistance(m, 3, []int{0, 3, 5}))
	assert.Equal(t, []int{5, 0}, byDistance(m, 3, []int{0, 5}))
	assert.Empty(t, byDistance(m, 3, nil))
}

func TestRowsRepeatTheTable(t *testing.T) {
	a := axesOf(t, recorded(t, "qemu-numa2"), "0", "0,1", "keep", "none,0")
	a.Buffers, a.Pages, a.Access = []uint64{1 << 20, 1 << 30}, []string{"4k", "thp"}, []string{"chase", "random"}
	rows := Rows(a)
	require.Len(t, rows, 8*4)
	assert.Equal(t, result.NumaRow{
		Row: 0, PreferredNode: None, NUMABalancing: KeepSetting, BufferBytes: 1 << 20, Pages: "4k", Access: "chase",
	}, rows[0])
	assert.Equal(t, result.NumaRow{
		Row: 7, PreferredNode: 0, PreferredBy: ByPrctl, NUMABalancing: KeepSetting, CPU: 1,
		BufferBytes: 1 << 30, Pages: "4k", Access: "chase",
	}, rows[7])
	assert.Equal(t, "thp", rows[8].Pages)
	assert.Equal(t, "random", rows[16].Access)
	assert.Equal(t, "chase", rows[15].Access)
}

// For any axes rows are numbered and distinct, the full product has all, and the default is the part of it in which a
// node is preferred only with the highest balancing value.
func TestRowsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := func(label string) []int {
			return rapid.SliceOfNDistinct(rapid.IntRange(-1, 8), 1, 5, rapid.ID).Draw(t, label)
		}
		a := Axes{
			Mem: numbers("mem"), CPU: numbers("cpu"), PreferredNode: numbers("preferred"), PreferredBy: ByPrctl,
			NUMABalancing: rapid.SliceOfNDistinct(rapid.IntRange(-1, 1), 1, 3, rapid.ID).Draw(t, "balancing"),
			Buffers:       []uint64{4096, 8192}[:rapid.IntRange(1, 2).Draw(t, "buffers")],
			Pages:         []string{"4k", "2m"}[:rapid.IntRange(1, 2).Draw(t, "pages")],
			Access:        []string{"random", "chase"}[:rapid.IntRange(1, 2).Draw(t, "access")],
			MemPolicy:     []string{"", BindBalancing}[:rapid.IntRange(1, 2).Draw(t, "policies")],
			FirstTouch:    []string{"", TouchFar, TouchBefore}[:rapid.IntRange(1, 3).Draw(t, "touches")],
			ScanDelay:     []float64{0, 0.05}[:rapid.IntRange(1, 2).Draw(t, "delays")],
			MigrationCost: []float64{0, 50e-6}[:rapid.IntRange(1, 2).Draw(t, "costs")],
		}
		part := Rows(a)
		a.Full = true
		full := Rows(a)
		places := 0 // of memory: each node bound in each way, and floating memory touched in each way
		for _, mem := range a.Mem {
			if mem == Float {
				places += len(a.FirstTouch)
			} else {
				places += len(a.MemPolicy)
			}
		}
		delays := 0 // of each value of NUMA balancing
		for _, nb := range a.NUMABalancing {
			if nb == 0 {
				delays++
			} else {
				delays += len(a.ScanDelay)
			}
		}
		require.Len(t, full, places*len(a.CPU)*len(a.PreferredNode)*delays*
			len(a.Buffers)*len(a.Pages)*len(a.Access)*len(a.MigrationCost))
		highest := a.NUMABalancing[0]
		for _, nb := range a.NUMABalancing {
			highest = max(highest, nb)
		}
		var want []result.NumaRow
		seen := map[result.NumaRow]bool{}
		for i, row := range full {
			require.Equal(t, i, row.Row)
			require.Equal(t, row.PreferredNode != None, row.PreferredBy == ByPrctl)
			require.True(t, row.FirstTouch == "" || row.Mem == Float)
			require.True(t, row.MemPolicy == "" || row.Mem != Float)
			if row.PreferredNode == None || row.NUMABalancing == highest {
				kept := row
				kept.Row = len(want)
				want = append(want, kept)
			}
			row.Row = 0
			require.False(t, seen[row], "%v is there twice", row)
			seen[row] = true
		}
		require.Equal(t, want, part)
	})
}
