package named

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
)

// A device adds CPUs near to it and far from it, which stay although other placements are alike: where the device is makes
// the difference. Of the same CPUs there is one placement.
func TestPlacementsOfDevice(t *testing.T) {
	m := hosts.Machine(t, "devices") // nodes 0-3, of which 0-1 and 2-3 share a package, each an LLC of two cores of two threads
	placements, err := on(m, m.Allowed()).All("nvme0")
	require.NoError(t, err)
	assert.Equal(t, `unbound []
near-nvme0 [0-1,8-9]
far-nvme0 [4-7,12-15]
one-cpu [10]
smt-siblings [0,8]
one-per-core [0-7]
spread-nodes [0,2,4,6]
interleaved [] interleave 0-3
node-interleaved [0-1,8-9] interleave 0-3
node-remote [0-1,8-9] bind 3
`, listed(placements))
	near, err := on(m, m.Allowed()).Lookup("near-ens5")
	require.NoError(t, err)
	assert.Contains(t, near.Pod.String(), "cpu: 4 in requests")
	assert.Contains(t, near.Pod.String(), "single-numa-node, and the device as a resource of the pod")
	far, err := on(m, m.Allowed()).Lookup("far-0000:a1:00.0")
	require.NoError(t, err)
	assert.Equal(t, "0-3,8-11", far.CPUs.String())
	assert.Nil(t, far.Pod)
	assert.Equal(t, "CPUs of the nodes farthest from 0000:a1:00.0", far.Words)

	within := cpuset.Of(5, 6, 7, 1)
	placements, err = on(m, within).All("ens5")
	require.NoError(t, err)
	assert.Equal(t, "near-ens5 [6-7]\nfar-ens5 [1]\n", listed(placements[1:3]))
}

func TestComplete(t *testing.T) {
	m := hosts.Machine(t, "devices")
	assert.Equal(t, []string{
		"far-sda\tCPUs of the nodes farthest from sda", "far-sdb\tCPUs of the nodes farthest from sdb",
		"far-sdc\tCPUs of the nodes farthest from sdc",
	}, Complete(m, "far-s"))
	assert.Equal(t, []string{"one-cpu-kind-1\tone CPU of kind 1", "one-cpu-llc-1\tone CPU of llc 1"},
		Complete(hosts.Machine(t, "hybrid"), "one-cpu-"))
	words := Complete(m, "n")
	assert.Contains(t, words, "near-ens5\tCPUs local to ens5")
	assert.Contains(t, words, "node-remote\tCPUs of one node, memory of the farthest")
	assert.NotContains(t, words, "unbound\tall CPUs of the run")
}
