package launch

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/cpuset"
	"gorun/internal/tests/hosts"
	"gorun/internal/topology"
)

// A device adds CPUs near to it and far from it, which stay although other placements are alike: where the device is makes
// the difference. Of the same CPUs there is one placement.
func TestPlacementsOfDevice(t *testing.T) {
	m := hosts.Machine(t, "devices") // nodes 0-3, of which 0-1 and 2-3 share a package, each an LLC of two cores of two threads
	for device, want := range map[string]string{
		"ens5": `unbound []
near-ens5 [6-7,14-15]
far-ens5 [0-3,8-11]
one-cpu [10]
smt-siblings [0,8]
one-per-core [0-7]
one-llc [0-1,8-9]
spread-nodes [0,2,4,6]
interleaved [] interleave 0-3
node-interleaved [0-1,8-9] interleave 0-3
node-remote [0-1,8-9] bind 3
`,
		"nvme0": `unbound []
near-nvme0 [0-1,8-9]
far-nvme0 [4-7,12-15]
one-cpu [10]
smt-siblings [0,8]
one-per-core [0-7]
spread-nodes [0,2,4,6]
interleaved [] interleave 0-3
node-interleaved [0-1,8-9] interleave 0-3
node-remote [0-1,8-9] bind 3
`,
	} {
		assert.Equal(t, want, table(ofMachine(t, m, m.Allowed(), cpuset.Set{}, device)), device)
	}
	near, err := LookupPlacement(m, m.Allowed(), cpuset.Set{}, "near-ens5", Choice{})
	require.NoError(t, err)
	assert.Equal(t, ofMachine(t, m, m.Allowed(), cpuset.Set{}, "ens5")[1], near)
	assert.Equal(t, "taskset -c 6-7,14-15", near.Setting().Lines().Taskset)
	assert.Contains(t, near.Setting().Lines().Systemd, "CPUAffinity=6-7,14-15")
	assert.Contains(t, near.Kubernetes, "cpu: 4 in requests")
	assert.Contains(t, near.Kubernetes, "single-numa-node, and the device as a resource of the pod")
	far, err := LookupPlacement(m, m.Allowed(), cpuset.Set{}, "far-0000:a1:00.0", Choice{})
	require.NoError(t, err)
	assert.Equal(t, "0-3,8-11", far.CPUs.String())
	assert.Empty(t, far.Kubernetes)
	assert.Equal(t, "CPUs of the nodes farthest from 0000:a1:00.0", far.Words)

	within := cpuset.Of(5, 6, 7, 1)
	assert.Equal(t, "near-ens5 [6-7]\nfar-ens5 [1]\n", table(ofMachine(t, m, within, cpuset.Set{}, "ens5")[1:3]))
}

func TestPlacementsOfDeviceErrors(t *testing.T) {
	m := hosts.Machine(t, "devices")
	for device, cpus := range map[string]cpuset.Set{"eth9": m.Allowed(), "eno1": m.Allowed(), "ens5": cpuset.Of(6)} {
		_, err := Placements(m, cpus, cpuset.Set{}, device, Choice{})
		require.ErrorAs(t, err, new(*topology.SelectError), device)
	}
	_, err := LookupPlacement(m, m.Allowed(), cpuset.Set{}, "near-eth9", Choice{})
	require.ErrorContains(t, err, "there is no device eth9")
}

func TestCompletePlacement(t *testing.T) {
	m := hosts.Machine(t, "devices")
	assert.Equal(t, []string{
		"far-sda\tCPUs of the nodes farthest from sda", "far-sdb\tCPUs of the nodes farthest from sdb",
		"far-sdc\tCPUs of the nodes farthest from sdc",
	}, CompletePlacement(m, "far-s"))
	assert.Equal(t, []string{"one-cpu-kind-1\tone CPU of kind 1", "one-cpu-llc-1\tone CPU of llc 1"},
		CompletePlacement(hosts.Machine(t, "hybrid"), "one-cpu-"))
	words := CompletePlacement(m, "n")
	assert.Contains(t, words, "near-ens5\tCPUs local to ens5")
	assert.Contains(t, words, "node-remote\tCPUs of one node, memory of the farthest")
	assert.NotContains(t, words, "unbound\tall CPUs of the run")
}
