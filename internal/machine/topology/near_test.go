package topology_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
)

func TestSelectNearAndFar(t *testing.T) {
	m := hosts.Machine(t, "devices") // nodes 0-3; 0-1 and 2-3 share a package each; CPUs 2n, 2n+1, 2n+8 and 2n+9
	for _, c := range []struct {
		list string
		want []int
	}{
		{"near:ens5", []int{6, 7, 14, 15}},
		{"near:mlx5_0", []int{6, 7, 14, 15}},
		{"near:0000:a1:00.0", []int{6, 7, 14, 15}},
		{"near:a1:00.0", []int{6, 7, 14, 15}},
		{"near:ens5v3", []int{6, 7, 14, 15}},
		{"near:sdc", []int{4, 5, 12, 13}},
		{"far:ens5", []int{0, 1, 2, 3, 8, 9, 10, 11}},
		{"far:nvme0n1", []int{4, 5, 6, 7, 12, 13, 14, 15}},
		{"near:41:00.0,near:nvme0,15", []int{2, 3, 10, 11, 0, 1, 8, 9, 15}},
		{"near:0000:02:00.0", []int{0, 1, 8, 9}}, // a PCI function that is not a device
	} {
		cpus, err := m.Select(c.list, m.Allowed())
		require.NoError(t, err, c.list)
		assert.Equal(t, c.want, cpus, c.list)
	}
	cpus, err := m.Select("near:ens5", cpuset.Of(0, 7, 14))
	require.NoError(t, err)
	assert.Equal(t, []int{7, 14}, cpus, "within what is given")
}

func TestSelectNearAndFarErrors(t *testing.T) {
	const numbers = "gorun topo"
	made := map[string]*topology.Machine{
		"one-node":       withCard(t, map[int]string{0: "0-3"}, -1),
		"one-node-known": withCard(t, map[int]string{0: "0-3"}, 0),
		"no-cpus":        withCard(t, map[int]string{0: "0-3", 1: ""}, 1),
	}
	for _, c := range []struct{ host, list, want, hint string }{
		{"devices", "near:eth9", "there is no device eth9", "there are nvme0, 0000:41:00.0, sda, ens5, ens5v0"},
		{"devices", "near:", "there is no device ", "ens5"},
		{"devices", "near", `"near" does not select CPUs`, "near:DEVICE"},
		{"devices", "near:enx0", "there is no device enx0", "ens5"},
		{"devices", "near:0000:ff:00.0", "there is no device 0000:ff:00.0", "ens5"},
		{"devices", "near:eno1", "near:eno1: the firmware does not say on which node eno1 is", "node:N"},
		{"devices", "far:eno1", "far:eno1: the firmware does not say", "node:N"},
		{"snc", "near:eth0", "no PCI bus is recorded", "gorun help devices"},
		{"one-node", "near:eth0", "the firmware does not say", "one node: every CPU"},
		{"one-node-known", "far:eth0", "no other usable node is farther from eth0 than node 0", numbers},
		{"no-cpus", "near:eth0", "near:eth0: node 1, where eth0 is, has no CPUs", numbers},
		{"one-node-known", "near:nvme0n1", "2 devices lead to nvme0n1", "0000:01:00.0, 0000:02:00.0"},
	} {
		m := made[c.host]
		if m == nil {
			m = hosts.Machine(t, c.host)
		}
		cpus, err := m.Select(c.list, m.Allowed())
		assert.Nil(t, cpus, c.list)
		require.ErrorContains(t, err, c.want, c.list)
		assert.Contains(t, hint.Of(err), c.hint, c.list)
	}
	m := hosts.Machine(t, "devices")
	_, err := m.Select("near:ens5", cpuset.Of(0, 1))
	require.EqualError(t, err, "near:ens5: CPUs 6-7,14-15 are not in --cpus")
}

// withCard returns a machine with these CPUs on its nodes, the card eth0 on one of them, and a drive with two paths.
// The card's local CPUs are those of its node, unless given.
func withCard(t *testing.T, nodes map[int]string, card int, local ...string) *topology.Machine {
	t.Helper()
	fsys := fstest.MapFS{}
	put := func(name, content string) { fsys[name] = &fstest.MapFile{Data: []byte(content + "\n")} }
	put("sys/devices/system/cpu/present", "0-3")
	put("sys/devices/system/cpu/online", "0-3")
	put("sys/devices/system/node/online", fmt.Sprintf("0-%d", len(nodes)-1))
	for n, cpus := range nodes {
		put(fmt.Sprintf("sys/devices/system/node/node%d/cpulist", n), cpus)
	}
	for i, name := range []string{"net/eth0", "nvme/nvme0/nvme0c0n1", "nvme/nvme1/nvme0c1n1"} {
		address := fmt.Sprintf("0000:%02d:00.0", i)
		put("sys/bus/pci/devices/"+address+"/class", "0x020000")
		put("sys/bus/pci/devices/"+address+"/numa_node", fmt.Sprint(card))
		put("sys/bus/pci/devices/"+address+"/local_cpulist", nodes[max(card, 0)])
		class := "sys/class/net/"
		if i > 0 {
			class = "sys/block/"
		}
		put(class+filepath.Base(name), "../../devices/pci0000:00/"+address+"/"+name)
	}
	for _, cpus := range local {
		put("sys/bus/pci/devices/0000:00:00.0/local_cpulist", cpus)
	}
	m, err := topology.Read(fsys)
	require.NoError(t, err)
	return m
}

// CPUs local to a device are not far from it, even if the kernel lists CPUs of other nodes as local.
func TestFarIsNotLocal(t *testing.T) {
	nodes := map[int]string{0: "0-1", 1: "2-3"}
	m := withCard(t, nodes, 0, "0-2")
	far, err := m.Select("far:eth0", m.Allowed())
	require.NoError(t, err)
	assert.Equal(t, []int{3}, far)
	m = withCard(t, nodes, 0, "0-3")
	_, err = m.Select("far:eth0", m.Allowed())
	require.ErrorContains(t, err, "no other usable node")
}

func TestSelectNodes(t *testing.T) {
	for _, c := range []struct{ host, list, possible, want, hint string }{
		{"devices", "near:ens5", "0-3", "3", ""},
		{"devices", "far:ens5", "0-3", "0-1", ""},
		{"devices", "far:ens5", "2-3", "2", ""}, // the farthest that will do
		{"devices", "near:ens5, near:nvme0", "0-3", "0,3", ""},
		{"devices", "1,far:sda", "0-3", "0-1", ""},
		{"qemu-numa2", "1,0,1", "0-1", "0-1", ""},
		{"sparse-ids", "0-8:1/8", "0,8", "0,8", ""},

		{"devices", "far:ens5", "3", "far:ens5: no other usable node is farther from ens5 than node 3, its own", "gorun topo"},
		{"devices", "near:eth9", "0-3", "there is no device eth9", "ens5"},
		{"devices", "near:eno1", "0-3", "near:eno1: the firmware does not say on which node eno1 is", "node:N"},
		{"qemu-numa2", "0-3", "0-1", "this machine has no node 2", "it has nodes 0-1"},
		{"qemu-numa2", "0-1", "0", "node 1 has no memory", "there are nodes 0"},
		{"qemu-numa2", "0,", "0-1", `"" is not a node`, "near:DEVICE or far:DEVICE, joined by commas; this machine has nodes 0-1"},
		{"qemu-numa2", "local", "0-1", `"local" is not a node`, "write nodes"},
		{"qemu-numa2", "-1", "0-1", `"-1" is not a node`, "write nodes"},
	} {
		possible, err := cpuset.Parse(c.possible)
		require.NoError(t, err)
		nodes, err := hosts.Machine(t, c.host).SelectNodes(c.list, possible, "no memory")
		got := nodes.String()
		if err != nil {
			require.NotEmpty(t, hint.Of(err), c.list)
			got = err.Error()
		}
		assert.Equal(t, c.want, got, "%s of %s", c.list, c.host)
		assert.Contains(t, hint.Of(err), c.hint)
	}
	nodes, err := hosts.Machine(t, "qemu-memoryless").SelectMemory("0")
	require.NoError(t, err)
	assert.Equal(t, "0", nodes.String())
	_, err = hosts.Machine(t, "qemu-memoryless").SelectMemory("1")
	require.EqualError(t, err, "node 1 has no memory")
}

func TestByDistance(t *testing.T) {
	m := &topology.Machine{Nodes: []topology.Node{{Node: 0}, {Node: 3}, {Node: 5}}}
	assert.Equal(t, []int{3, 0}, m.ByDistance(3, []int{0, 3, 5}))
	m.Nodes[1].Distances = []int{20, 10, 15}
	assert.Equal(t, []int{3, 5, 0}, m.ByDistance(3, []int{0, 3, 5}))
	assert.Equal(t, []int{5, 0}, m.ByDistance(3, []int{0, 5}))
	assert.Empty(t, m.ByDistance(3, nil))
}

func TestCompleteDevices(t *testing.T) {
	m := hosts.Machine(t, "devices")
	assert.Equal(t, []string{"near:"}, m.Complete("ne"))
	assert.Equal(t, []string{"0,far:nvme0", "0,far:nvme0n1"}, m.Complete("0,far:n"))
	assert.NotContains(t, m.Complete("near:"), "near:eno1", "its node is not known")
	assert.NotContains(t, hosts.Machine(t, "snc").Complete(""), "near:", "a machine without devices")
	assert.Equal(t, []string{"ens5", "ens5v0", "ens5v1", "ens5v2", "ens5v3", "eno1"}, m.CompleteDevices("e"))
	assert.Equal(t, []string{"1,near:sda", "1,near:sdb", "1,near:sdc"}, m.CompleteNodes("1,near:s"))
	for _, word := range m.CompleteNodes("") {
		_, err := m.SelectNodes(word, cpuset.Range(0, 3), "")
		assert.NoError(t, err, word)
		assert.True(t, strings.HasPrefix(word, "near:") || strings.HasPrefix(word, "far:"))
	}
}
