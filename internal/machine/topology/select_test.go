package topology_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
)

// Lists of several selectors. The golden file has what each gives alone, on each machine.
func TestSelect(t *testing.T) {
	for _, c := range []struct {
		host, list string
		want       []int
	}{
		{"container", " 2 , 3 ", []int{2, 3}},
		{"container", "6,one-per-core", []int{6, 2, 3}},
		{"epyc-2p-nps4", "core:31,core:0", []int{31, 63, 0, 32}},
		{"epyc-2p-nps4", "0-63:2/16", []int{0, 1, 16, 17, 32, 33, 48, 49}},
		{"container", "share:1/2147483647", []int{2}},
		{"container", "share:2147483646/2147483647,6", []int{2, 3, 6}},
		{"hybrid", "ecores,0", []int{4, 5, 6, 7, 8, 9, 0}},
	} {
		m := hosts.Machine(t, c.host)
		cpus, err := m.Select(c.list, m.Allowed())
		require.NoError(t, err, "%s on %s", c.list, c.host)
		assert.Equal(t, c.want, cpus, "%s on %s", c.list, c.host)
	}
}

func TestSelectErrors(t *testing.T) {
	for _, c := range []struct{ host, list, want, hint string }{
		{"container", "", "empty", "node:N"},
		{"container", "2,,3", "empty", "node:N"},
		{"container", "2,7", "CPU 7 is outside the affinity mask", "2-3,6"},
		{"container", "0-7", "CPUs 0-1,4-5,7 are outside the affinity mask", "2-3,6"},
		{"container", "2,8", "CPU 8 is not present", "2-3,6"},
		{"container", "7-8", "CPU 8 is not present", "2-3,6"},
		{"container", "65535", "CPU 65535 is not present", "2-3,6"},
		{"container", "65536", "CPU numbers end at 65535", "node:N"},
		{"container", "core:0", "core:0: CPUs 0,4 are outside the affinity mask", "2-3,6"},
		{"container", "node:1", "this machine has no node 1", "it has node 0"},
		{"container", "core:9", "this machine has no core 9", "it has core 0-3"},
		{"container", "sockets:0", `"sockets:0" does not select CPUs`, "one-per-core"},
		{"container", "node", `"node" does not select CPUs`, "node:N"},
		{"container", "all:0", `"all:0" does not select CPUs`, "all"},
		{"container", "node:x", `"x" is not a number`, "node:N"},
		{"container", "node:-1", `"-1" is not a number`, "node:N"},
		{"container", "share", `"share" does not select CPUs`, "share:N/M"},
		{"container", "share:2", `"share:2": a share is written N/M, with 1 <= N <= M`, "share:N/M"},
		{"container", "share:0/2", "with 1 <= N <= M", "share:N/M"},
		{"container", "share:3/2", "with 1 <= N <= M", "share:N/M"},
		{"container", "share:1/x", "with 1 <= N <= M", "share:N/M"},
		{"container", "share:1/2147483648", "with 1 <= N <= M", "share:N/M"},
		{"container", "-1", `"-1" does not select CPUs`, "0-3,8"},
		{"container", "3-2", "ends before it starts", "0-3,8"},
		{"container", "1;2", "not a CPU list", "0-3,8"},
		{"container", "pcores", `"pcores" selects none of the CPUs 2-3,6`, "gorun topo"},
		{"container", "isolated", `"isolated" selects none`, "gorun topo"},
		{"offline-middle", "1-2", "CPU 2 is offline", "0-1,3-4,6-7"},
		{"sparse-ids", "package:1", "this machine has no package 1", "0,36"},
		{"cxl-memory", "node:2", "no node 2 with an online CPU", "it has node 0"},
	} {
		m := hosts.Machine(t, c.host)
		cpus, err := m.Select(c.list, m.Allowed())
		assert.Nil(t, cpus, c.list)
		require.ErrorContains(t, err, c.want, c.list)
		assert.Contains(t, hint.Of(err), c.hint, c.list)
		masked := strings.Contains(c.want, "outside the affinity mask")
		assert.Equal(t, masked, strings.Contains(hint.Of(err), "--ignore-affinity"), "%s: %s", c.list, hint.Of(err))
	}

	m := hosts.Machine(t, "container")
	_, err := m.Select("3", cpuset.Of(2, 6))
	require.EqualError(t, err, "CPU 3 is not in --cpus")
	_, err = m.Select("all", cpuset.Set{})
	require.EqualError(t, err, `"all" selects none of the CPUs (none)`)
	_, err = m.Select("share:1/2", cpuset.Set{})
	require.EqualError(t, err, `"share:1/2" selects none of the CPUs (none)`)
	_, err = hosts.Machine(t, "offline-middle").Select("2", cpuset.Range(0, 7))
	require.EqualError(t, err, "CPU 2 is offline", "even where the given set has it")
}

// A share is the lowest of the given CPUs, rounded down, but at least one.
func TestSelectShareProperty(t *testing.T) {
	m := hosts.Machine(t, "epyc-2p-nps4")
	rapid.Check(t, func(t *rapid.T) {
		within := cpuset.Of(rapid.SliceOfN(rapid.IntRange(0, 63), 1, -1).Draw(t, "within")...)
		parts := rapid.IntRange(1, 70).Draw(t, "parts")
		taken := rapid.IntRange(1, parts).Draw(t, "taken")
		cpus, err := m.Select(fmt.Sprintf("share:%d/%d", taken, parts), within)
		require.NoError(t, err)
		require.Equal(t, within.List()[:max(1, within.Len()*taken/parts)], cpus)
	})
}

func TestComplete(t *testing.T) {
	m := hosts.Machine(t, "sparse-ids")
	for list, want := range map[string][]string{
		"":              {"all", "node:", "llc:", "package:", "core:", "one-per-core", "kind:", "isolated", "share:"},
		"o":             {"one-per-core"},
		"node:":         {"node:0", "node:8"},
		"package:3":     {"package:36"},
		"0,4,core":      {"0,4,core:"},
		"node:0,core:1": {"node:0,core:1"},
		"share:":        {"share:1/2", "share:1/4", "share:1/8"},
		"share:1/4":     {"share:1/4"},
		"x":             nil,
		"node:9":        nil,
	} {
		assert.Equal(t, want, m.Complete(list), list)
	}
	assert.Contains(t, hosts.Machine(t, "hybrid").Complete("p"), "pcores")
	assert.NotContains(t, m.Complete("p"), "pcores", "a selector that finds nothing here")
}

func FuzzSelect(f *testing.F) {
	m := hosts.Machine(f, "hybrid")
	for _, seed := range []string{
		"all", "node:0,3-1", "core:7,0-9:1/2", "one-per-core,", "llc:99999999999", "share:1/2,share:9/8", ":", "0-65535",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		cpus, err := m.Select(list, m.Online())
		if err != nil {
			require.NotEmpty(t, hint.Of(err))
			return
		}
		require.NotEmpty(t, cpus)
		require.Len(t, cpus, cpuset.Of(cpus...).Len(), "each once")
		require.True(t, cpuset.Of(cpus...).Minus(m.Online()).Empty())
	})
}
