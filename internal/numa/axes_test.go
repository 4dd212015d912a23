package numa

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/cpuset"
	"gorun/internal/hint"
)

// listed formats a parsed list, or the error with its hint.
func listed[T any](list []T, err error) string {
	if err != nil {
		return fmt.Sprintf("%v | %s", err, hint.Of(err))
	}
	return strings.Trim(fmt.Sprint(list), "[]")
}

func TestParseNodes(t *testing.T) {
	write := func(rest string) string {
		return " | write nodes, ranges, near:DEVICE, far:DEVICE, " + rest + " or all, joined by commas; this machine has nodes 0-1"
	}
	for _, c := range []struct{ machine, flag, text, want string }{
		{"qemu-numa2", "mem", "", "0 1 -1"},
		{"qemu-numa2", "mem", "all", "0 1 -1"},
		{"qemu-numa2", "mem", "float", "-1"},
		{"qemu-numa2", "mem", "float, 1,0,1", "0 1 -1"},
		{"qemu-epyc8", "mem", "0-3,float", "0 1 2 3 -1"},
		{"qemu-epyc8", "cpu", "6,0-1", "0 1 6"},
		{"qemu-epyc8", "cpu", "", "0 1 2 3 4 5 6 7 -1"},
		{"qemu-epyc8", "preferred", "", "-1 0 1 2 3 4 5 6 7"},
		{"qemu-epyc8", "preferred", "3,none,1", "-1 1 3"},
		{"qemu-epyc8", "preferred", "3", "3"},

		{"devices", "mem", "near:ens5,far:ens5,float", "0 1 3 -1"},
		{"devices", "cpu", "near:nvme0n1,2", "0 2"},
		{"devices", "preferred", "none,far:sda", "-1 0 1"},
		{"devices", "mem", "near:eno1", "near:eno1: the firmware does not say on which node eno1 is | " +
			"give node:N according to the board's manual; an administrator can write the device's numa_node in sysfs"},

		// Node 1 has no memory.
		{"qemu-memoryless", "mem", "", "0 -1"},
		{"qemu-memoryless", "cpu", "", "0 1 -1"},
		{"qemu-memoryless", "mem", "1,float", "node 1 has no memory | give nodes of 0, or float"},
		{"qemu-memoryless", "mempolicy", "", "-1 0"},
		{"qemu-memoryless", "mempolicy", "1", "node 1 has no memory | give nodes of 0, or none"},
		{"qemu-memoryless", "preferred", "", "-1 0 1"},

		// Node 1 has no CPUs.
		{"qemu-cpuless", "mem", "", "0 1 -1"},
		{"qemu-cpuless", "cpu", "", "0 -1"},
		{"qemu-cpuless", "cpu", "0-1", "node 1 has none of the run's CPUs 0-3 | give nodes of 0, or float"},
		{"qemu-cpuless", "preferred", "1", "node 1 has none of the run's CPUs 0-3 | give nodes of 0, or none"},
		{"qemu-cpuless", "mempolicy", "", "-1 0 1"},

		{"qemu-numa2", "mem", "2", "this machine has no node 2 | it has nodes 0-1"},
		{"qemu-numa2", "cpu", "0-7", "this machine has no node 2 | it has nodes 0-1"},
		{"qemu-numa2", "mem", "0,", `"" is not a node` + write("float")},
		{"qemu-numa2", "mem", "none", `"none" is not a node` + write("float")},
		{"qemu-numa2", "preferred", "float", `"float" is not a node` + write("none")},
		{"qemu-numa2", "cpu", "-1", `"-1" is not a node` + write("float")},
	} {
		m := recorded(t, c.machine)
		var got string
		switch c.flag {
		case "mem":
			got = listed(ParseMem(c.text, m))
		case "cpu":
			got = listed(ParseCPU(c.text, m, m.Allowed()))
		case "preferred":
			got = listed(ParsePreferred(c.text, ByPrctl, m, m.Allowed()))
		case "mempolicy":
			got = listed(ParsePreferred(c.text, ByMempolicy, m, m.Allowed()))
		}
		assert.Equal(t, c.want, got, "%s: %s %q", c.machine, c.flag, c.text)
	}
	m := recorded(t, "qemu-numa2")
	assert.Equal(t, "0 -1", listed(ParseCPU("", m, cpuset.Of(1, 2))), "the run has no CPU of node 1")
	assert.Equal(t, "node 1 has none of the run's CPUs 1-2 | give nodes of 0, or float",
		listed(ParseCPU("1", m, cpuset.Of(1, 2))))
}

func TestParseWords(t *testing.T) {
	for _, c := range []struct{ flag, text, want string }{
		{"balancing", "0,1,keep", "0 1 -1"},
		{"balancing", "keep,1,0,1", "0 1 -1"},
		{"balancing", "1", "1"},
		{"balancing", "2", `"2" is not a value of NUMA balancing | there are 0, 1, keep`},
		{"balancing", "", "0 1"},
		{"balancing", ",", `"" is not a value of NUMA balancing | there are 0, 1, keep`},
		{"pages", "thp,4k,thp", "thp 4k"},
		{"pages", "1g, 2m", "1g 2m"},
		{"pages", "2M", `"2M" is not a kind of pages | there are 4k, thp, 2m, 1g`},
		{"access", "chase,random,sequential", "chase random sequential"},
		{"access", "index", `"index" is not an access pattern | there are random, sequential, chase`},
	} {
		var got string
		switch c.flag {
		case "balancing":
			got = listed(ParseBalancing(c.text))
		case "pages":
			got = listed(ParsePages(c.text))
		case "access":
			got = listed(ParseAccess(c.text))
		}
		assert.Equal(t, c.want, got, "%s %q", c.flag, c.text)
	}
	for _, way := range PreferredWays {
		got, err := ParsePreferredBy(way.Name)
		require.NoError(t, err)
		assert.Equal(t, way.Name, got)
	}
	_, err := ParsePreferredBy("magic")
	assert.EqualError(t, err, `"magic" is not a way to prefer a node`)
	_, err = ParsePreferredBy("prctl,mempolicy")
	assert.EqualError(t, err, "give a single way to prefer a node")
}

func TestNeedNodes(t *testing.T) {
	m := recorded(t, "qemu-numa2")
	assert.Empty(t, NeedNodes(m, m.Allowed()))
	some := NeedNodes(m, cpuset.Of(5))
	require.Len(t, some, 1)
	assert.Contains(t, some[0].Message, "CPUs on node 1 only")
	assert.Equal(t, "give it CPUs of nodes 0-1 by --cpus", some[0].Hint)

	m = recorded(t, "qemu-cpu2")
	some = NeedNodes(m, m.Allowed())
	require.Len(t, some, 1)
	assert.Contains(t, some[0].Message, "this machine has one node")

	m = recorded(t, "qemu-memoryless")
	some = NeedNodes(m, m.Allowed())
	require.Len(t, some, 1)
	assert.Contains(t, some[0].Message, "only node 0 has memory")

	m = recorded(t, "qemu-cpuless")
	some = NeedNodes(m, m.Allowed())
	require.Len(t, some, 1)
	assert.Contains(t, some[0].Message, "CPUs on node 0 only")
	assert.Empty(t, some[0].Hint, "the machine has no others")
}

// An accepted list has only possible values, in order and without duplicates, and no text causes a panic.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "all", "0,1,float", "none,0-1", "0-65535", "0-1:1/2", "keep,0", "4KiB", "1GiB,4611686018427387904KiB", ",", "thp",
	} {
		f.Add(text)
	}
	m := recorded(f, "qemu-memoryless")
	f.Fuzz(func(t *testing.T, text string) {
		if nodes, err := ParseMem(text, m); err == nil {
			require.Subset(t, []int{0, Float}, nodes)
			require.NotEmpty(t, nodes)
		}
		if nodes, err := ParseCPU(text, m, m.Allowed()); err == nil {
			require.Contains(t, [][]int{{0}, {1}, {0, 1}, {Float}, {0, Float}, {1, Float}, {0, 1, Float}}, nodes)
		}
		if nodes, err := ParsePreferred(text, ByPrctl, m, m.Allowed()); err == nil {
			require.Contains(t, [][]int{{0}, {1}, {0, 1}, {None}, {None, 0}, {None, 1}, {None, 0, 1}}, nodes)
		}
		if values, err := ParseBalancing(text); err == nil {
			require.NotEmpty(t, values)
			require.LessOrEqual(t, len(values), 3)
		}
	})
}

func TestParseTimes(t *testing.T) {
	for text, want := range map[string][]float64{
		"keep": {0}, "50ms,1s": {0.05, 1}, "50ms, keep,0.05s": {0.05, 0},
	} {
		got, err := ParseTimes(text, scanDelay.of...)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for text, says := range map[string]string{
		"": "not a time", "soon": "not a time", "50": "not a time", "0s": "whole numbers of 0.001 s", "-1s": "whole numbers",
		"100us": "whole numbers of 0.001 s",
	} {
		_, err := ParseTimes(text, scanDelay.of...)
		assert.ErrorContains(t, err, says, text)
	}
	_, err := ParseTimes("100us", migrationCost.of...)
	assert.NoError(t, err)
}
