package numa

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests/hosts"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// label formats a row as in the RFC's table.
func label(row result.NumaRow) string {
	return fmt.Sprintf("[%02d] PNID: %d NB: %d Mem: %s CPU: %s",
		row.Row, row.PreferredNode, row.NUMABalancing, orWord(row.Mem, "F"), orWord(row.CPU, "F"))
}

// given returns the flags of a command line.
func given(t testing.TB, line string) *flags {
	t.Helper()
	f := &flags{}
	set := experiment.NewFlagSet("numa")
	f.Register(set)
	require.NoError(t, set.Parse(strings.Fields(line)))
	return f
}

// rowsOf returns the rows that a command line gives on these CPUs of a machine.
func rowsOf(t testing.TB, m *topology.Machine, cpus cpuset.Set, line string) []result.NumaRow {
	t.Helper()
	rows, _, err := given(t, line).rows(experiment.Machine{Machine: m, CPUs: cpus})
	require.NoError(t, err)
	return rows
}

// valuesOf formats the values of a flag, or the error with its hint.
func valuesOf(t testing.TB, m *topology.Machine, cpus cpuset.Set, by, flag, text string) string {
	t.Helper()
	a := axes[slices.IndexFunc(axes[:], func(a axis) bool { return a.flag == flag })]
	values, err := a.values(&flags{preferredBy: by}, experiment.Machine{Machine: m, CPUs: cpus}, text)
	if err != nil {
		return fmt.Sprintf("%v | %s", err, hint.Of(err))
	}
	return strings.Join(values, " ")
}

func TestNodes(t *testing.T) {
	for _, c := range []struct{ machine, flag, text, want string }{
		{"qemu-numa2", "mem", "", "0 1 float"},
		{"qemu-numa2", "mem", "float", "float"},
		{"qemu-numa2", "mem", "float, 1,0,1", "0 1 float"},
		{"qemu-epyc8", "mem", "0-3,float", "0 1 2 3 float"},
		{"qemu-epyc8", "cpu", "6,0-1", "0 1 6"},
		{"qemu-epyc8", "preferred-node", "3,none,1", "none 1 3"},
		{"qemu-epyc8", "preferred-node", "3", "3"},

		{"devices", "mem", "near:ens5,far:ens5,float", "0 1 3 float"},
		{"devices", "preferred-node", "none,far:sda", "none 0 1"},

		// Node 1 has no memory.
		{"qemu-memoryless", "mem", "", "0 float"},
		{"qemu-memoryless", "cpu", "", "0 1 float"},
		{"qemu-memoryless", "mem", "1,float", "node 1 has no memory | there are nodes 0; or give float or all"},
		{"qemu-memoryless", ByMempolicy, "", "none 0"},

		// Node 1 has no CPUs.
		{"qemu-cpuless", "mem", "", "0 1 float"},
		{"qemu-cpuless", "cpu", "", "0 float"},
		{"qemu-cpuless", "cpu", "0-1", "node 1 has none of the run's CPUs 0-3 | there are nodes 0; or give float or all"},

		{"qemu-numa2", "cpu", "0-7", "this machine has no node 2 | it has nodes 0-1; or give float or all"},
	} {
		m, flag, by := hosts.Machine(t, c.machine), c.flag, ByPrctl
		if flag == ByMempolicy {
			flag, by = "preferred-node", ByMempolicy
		}
		assert.Equal(t, c.want, valuesOf(t, m, m.Allowed(), by, flag, c.text), "%s: %s %q", c.machine, c.flag, c.text)
	}
	m := hosts.Machine(t, "qemu-numa2")
	assert.Equal(t, "0 float", valuesOf(t, m, cpuset.Of(1, 2), "", "cpu", ""), "the run has no CPU of node 1")
}

func TestValues(t *testing.T) {
	m := hosts.Machine(t, "qemu-numa2")
	for _, c := range []struct{ flag, text, want string }{
		{"numa-balancing", "keep,1,0,1", "0 1 keep"},
		{"numa-balancing", "2", `"2" is not a value of NUMA balancing | there are 0, 1, keep`},
		{"numa-balancing", "", "0 1"},
		{"numa-balancing", ",", `"" is not a value of NUMA balancing | there are 0, 1, keep`},
		{"pages", "thp, 4k,thp", "thp 4k"},
		{"pages", "2M", `"2M" is not a kind of pages | there are 4k, thp, 2m, 1g`},
		{"access", "index", `"index" is not an access pattern | there are random, sequential, chase`},
		{"buffer", "1MiB,1024KiB", "1MiB"},
		{"scan-delay", "50ms, keep,0.05s", "50ms keep"},
		{"scan-delay", "50", `"50" is not a time | write times such as 50ms, and keep, joined by commas`},
		{"migration-cost", "100us", "100µs"},
	} {
		assert.Equal(t, c.want, valuesOf(t, m, m.Allowed(), "", c.flag, c.text), "%s %q", c.flag, c.text)
	}
	for _, text := range []string{"0s", "-1s", "100us"} {
		assert.Contains(t, valuesOf(t, m, m.Allowed(), "", "scan-delay", text), "whole numbers")
	}
}

// No text causes a panic, and the rows of accepted ones are numbered and distinct.
func FuzzRows(f *testing.F) {
	for _, a := range axes {
		for _, text := range []string{
			"", "all", "0,1,float", "none,0-1", "0-65535", "0-1:1/2", "keep,0", "1GiB,4611686018427387904KiB", ",", "thp",
		} {
			f.Add(a.flag, text)
		}
	}
	m := hosts.Machine(f, "qemu-memoryless")
	f.Fuzz(func(t *testing.T, flag, text string) {
		flags := given(t, "")
		if flags.text[flag] == nil {
			return
		}
		*flags.text[flag] = text
		rows, _, err := flags.rows(experiment.Machine{Machine: m, CPUs: m.Allowed()})
		seen := map[result.NumaRow]bool{}
		for i, row := range rows {
			require.Equal(t, i, row.Row)
			row.Row = 0
			require.False(t, seen[row])
			seen[row] = true
		}
		require.Equal(t, err == nil, len(rows) > 0)
	})
}

// Rows are the product of the axes, without combinations that mean the same. A node is preferred with the highest value
// of NUMA balancing only, unless --full is given.
func TestRows(t *testing.T) {
	m := hosts.Machine(t, "qemu-numa2")
	for _, c := range []struct {
		line string
		want []string
	}{
		{"--mem 0 --cpu float --numa-balancing keep --preferred-node none", []string{"-1 -1 0 F"}},
		{"--mem 0 --cpu 1 --numa-balancing 0 --preferred-node none,1", []string{"-1 0 0 1", "1 0 0 1"}},
		{"--mem 1 --cpu 1 --numa-balancing keep,1 --preferred-node 0", []string{"0 1 1 1"}},
		{"--mem 1 --cpu 1 --numa-balancing keep,1 --preferred-node 0 --full", []string{"0 1 1 1", "0 -1 1 1"}},
		{"--mem float --cpu float --numa-balancing keep,0 --preferred-node none,0", []string{"-1 0 F F", "-1 -1 F F", "0 0 F F"}},
		{
			"--mem 0 --cpu 0 --numa-balancing 0,1 --preferred-node none --scan-delay 50ms,keep --migration-cost keep,50us",
			[]string{"-1 0 0 0", "-1 1 0 0 50ms", "-1 1 0 0", "-1 0 0 0 50µs", "-1 1 0 0 50ms 50µs", "-1 1 0 0 50µs"},
		},
		{
			"--mem 0,float --cpu 0 --numa-balancing keep --preferred-node none --mem-policy bind,bind+balancing --first-touch far,near",
			[]string{"-1 -1 0 0", "-1 -1 0 0 bind+balancing", "-1 -1 F 0 far", "-1 -1 F 0"},
		},
		{
			"--mem 0 --cpu 0 --numa-balancing keep --preferred-node none --buffer 1MiB,2MiB --pages 4k,thp --access chase,random",
			[]string{
				"-1 -1 0 0 1MiB 4k chase", "-1 -1 0 0 2MiB 4k chase", "-1 -1 0 0 1MiB thp chase", "-1 -1 0 0 2MiB thp chase",
				"-1 -1 0 0 1MiB 4k random", "-1 -1 0 0 2MiB 4k random", "-1 -1 0 0 1MiB thp random", "-1 -1 0 0 2MiB thp random",
			},
		},
	} {
		var got []string
		for _, row := range rowsOf(t, m, m.Allowed(), c.line) {
			words := []string{strconv.Itoa(row.PreferredNode), strconv.Itoa(row.NUMABalancing), orWord(row.Mem, "F"), orWord(row.CPU, "F")}
			if strings.Contains(c.line, "--buffer") {
				words = append(words, strconv.FormatUint(row.BufferBytes>>20, 10)+"MiB", row.Pages, row.Access)
			}
			for _, word := range []string{duration(row.ScanDelay), duration(row.MigrationCost), row.MemPolicy, row.FirstTouch} {
				if word != "" {
					words = append(words, word)
				}
			}
			got = append(got, strings.Join(words, " "))
			assert.Equal(t, len(got)-1, row.Row)
			assert.Equal(t, row.PreferredNode != None, row.PreferredBy == ByPrctl)
		}
		assert.Equal(t, c.want, got, c.line)
	}
}

// A machine with many nodes has few rows by default: one for each distance from the memory's node.
func TestRowsOfManyNodes(t *testing.T) {
	nodes := func(rows []result.NumaRow, of func(row result.NumaRow) int) []int {
		all := make([]int, len(rows))
		for i, row := range rows {
			all[i] = of(row)
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	eight := hosts.Machine(t, "qemu-epyc8")
	for _, c := range []struct {
		line                string
		cpus                cpuset.Set
		mem, cpu, preferred []int
		rows                int
	}{
		{"", eight.Allowed(), []int{-1, 0}, []int{-1, 0, 1, 4}, []int{-1, 0, 4}, (2 + 2) * 2 * 4},
		{"--mem 5,float", eight.Allowed(), []int{-1, 5}, []int{-1, 0, 4, 5}, []int{-1, 0, 5}, (2 + 2) * 2 * 4},
		{"--cpu 3", eight.Allowed(), []int{-1, 0, 3, 4}, []int{3}, []int{-1, 3, 4}, (2 + 2) * 4 * 1},
		{"", nodeCPUs(eight, 6, eight.Allowed()), []int{-1, 0, 4, 6}, []int{-1, 6}, []int{-1, 6}, (2 + 1) * 4 * 2},
		{"--mem all", eight.Allowed(), []int{-1, 0, 1, 2, 3, 4, 5, 6, 7}, []int{-1, 0, 1, 4}, []int{-1, 0, 4}, 4 * 9 * 4},
	} {
		rows := rowsOf(t, eight, c.cpus, c.line)
		assert.Equal(t, c.mem, nodes(rows, func(row result.NumaRow) int { return row.Mem }), c.line)
		assert.Equal(t, c.cpu, nodes(rows, func(row result.NumaRow) int { return row.CPU }), c.line)
		assert.Equal(t, c.preferred, nodes(rows, func(row result.NumaRow) int { return row.PreferredNode }), c.line)
		assert.Len(t, rows, c.rows, c.line)
	}
	_, _, err := given(t, "--rows all --access random,chase,sequential --pages 4k,thp,2m").rows(
		experiment.Machine{Machine: eight, CPUs: eight.Allowed()})
	assert.EqualError(t, err, "the flags give more than 10000 rows")

	for name, m := range hosts.All(t) {
		rows := rowsOf(t, m, m.Allowed(), "")
		require.NotEmpty(t, rows, name)
		assert.LessOrEqual(t, len(rows), 60, name)
		for node := range m.MemoryNodes().All() { // where the memory lies, a probe is on the same node and on another one
			if len(m.Nodes) > fewNodes && m.NodesWith(m.Allowed()).Contains(node) {
				assert.True(t, slices.ContainsFunc(rows, func(row result.NumaRow) bool { return row.Mem == row.CPU }), name)
				assert.True(t, slices.ContainsFunc(rows, func(row result.NumaRow) bool {
					return row.Mem != row.CPU && row.Mem >= 0 && row.CPU >= 0
				}), name)
			}
		}
	}
}

func TestNeedNodes(t *testing.T) {
	for host, want := range map[string]string{
		"qemu-numa2": "", "qemu-cpu2": "this machine has one node", "qemu-memoryless": "only node 0 has memory",
		"qemu-cpuless": "CPUs on node 0 only",
	} {
		m := hosts.Machine(t, host)
		some := needNodes(m, m.Allowed())
		require.Equal(t, want != "", len(some) == 1, host)
		if want != "" {
			assert.Contains(t, some[0].Message, want)
			assert.NotContains(t, some[0].Hint, "--cpus", "the machine has no others")
		}
	}
	m := hosts.Machine(t, "qemu-numa2")
	assert.Equal(t, "give it CPUs of nodes 0-1 by --cpus", needNodes(m, cpuset.Of(5))[0].Hint)
}
