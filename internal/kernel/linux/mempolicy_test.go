package linux

import (
	"errors"
	"io/fs"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
)

func TestMempolicyTakesItsNodes(t *testing.T) {
	none, one, two := cpuset.Of(), cpuset.Of(3), cpuset.Of(0, 700)
	for mode, takes := range map[Mempolicy][3]bool{
		MempolicyDefault:       {true, false, false},
		MempolicyLocal:         {true, false, false},
		MempolicyPreferred:     {false, true, false},
		MempolicyBind:          {false, true, true},
		MempolicyInterleave:    {false, true, true},
		MempolicyPreferredMany: {false, true, true},
		MempolicyBind | 0x4000: {false, true, true},
		6:                      {false, false, false},
		-1:                     {false, false, false},
	} {
		for i, nodes := range []cpuset.Set{none, one, two} {
			assert.Equal(t, takes[i], mode.check(nodes) == nil, "%v of %v", mode, nodes)
		}
	}
	assert.EqualError(t, MempolicyPreferred.check(two), "the memory policy preferred takes 1 to 1 nodes, not 2")
}

func TestParseMempolicy(t *testing.T) {
	for text, want := range map[string]Mempolicy{
		"default": MempolicyDefault, "local": MempolicyLocal, "preferred:3": MempolicyPreferred, "bind:0-1,3": MempolicyBind,
		"interleave:0": MempolicyInterleave, "preferred-many:0,2": MempolicyPreferredMany,
	} {
		mode, nodes, err := ParseMempolicy(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, mode, text)
		assert.Equal(t, text, FormatMempolicy(mode, nodes))
	}
	for text, want := range map[string]string{
		"":               `"" is not a memory policy (one of default, preferred:NODE, bind:NODES,`,
		"nearest:0":      `"nearest" is not a memory policy`,
		"bind":           "the memory policy bind takes 1 to 65536 nodes, not 0",
		"local:0":        "the memory policy local takes 0 to 0 nodes, not 1",
		"preferred:0-1":  "the memory policy preferred takes 1 to 1 nodes, not 2",
		"interleave:0;1": "not a CPU list",
	} {
		_, _, err := ParseMempolicy(text)
		assert.ErrorContains(t, err, want)
	}
}

// ownPolicy locks the test's goroutine to its thread until the end of the test, and then restores the thread's memory
// policy.
func ownPolicy(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	mode, nodes, err := GetMempolicy()
	skipIfRefusedOrMissing(t, err)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, SetMempolicy(mode, nodes)) })
}

func TestMempolicyRoundTrip(t *testing.T) {
	ownPolicy(t)
	allowed := memoryNodes(t)
	got, err := MemsAllowed()
	require.NoError(t, err)
	assert.Equal(t, allowed.String(), got.String())

	const static = 0x8000 // MPOL_F_STATIC_NODES
	for _, mode := range []Mempolicy{
		MempolicyBind, MempolicyInterleave, MempolicyPreferredMany, MempolicyPreferred, MempolicyBind | static,
		MempolicyLocal, MempolicyDefault,
	} {
		probed := HaveMempolicy(mode)
		if mode == MempolicyPreferredMany && errors.Is(probed, errors.ErrUnsupported) {
			t.Logf("%v", probed)
			continue
		}
		require.NoError(t, probed, "%v", mode)
		nodes := allowed
		switch mode {
		case MempolicyPreferred:
			nodes = cpuset.Of(allowed.Last())
		case MempolicyLocal, MempolicyDefault:
			nodes = cpuset.Set{}
		}
		require.NoError(t, SetMempolicy(mode, nodes), "%v", mode)
		gotMode, gotNodes, err := GetMempolicy()
		require.NoError(t, err)
		assert.Equal(t, mode, gotMode)
		assert.True(t, nodes.Equal(gotNodes), "%v of %v", mode, gotNodes)
	}
}

func TestNodeMask(t *testing.T) {
	_, maxnode := nodeMask(cpuset.Of(0, 63))
	assert.EqualValues(t, 64+1, maxnode, "the kernel subtracts one, and node 63 must remain")
	mask, maxnode := nodeMask(cpuset.Of(1, 64))
	assert.EqualValues(t, 128+1, maxnode)
	assert.Equal(t, [2]uint64{2, 1}, *(*[2]uint64)(mask))
	mask, maxnode = nodeMask(cpuset.Set{})
	assert.Nil(t, mask)
	assert.Zero(t, maxnode)
}

// On every node with memory: the pages that a thread touches follow its policy, but an area's policy takes precedence.
func TestMempolicyPlacesMemory(t *testing.T) {
	ownPolicy(t)
	nodes := memoryNodes(t)
	for node := range nodes.All() {
		for _, mode := range []Mempolicy{MempolicyBind, MempolicyPreferred} {
			require.NoError(t, SetMempolicy(mode, cpuset.Of(node)))
			floats := newArea(t, AreaOptions{Bytes: 8 * pageSize, Node: -1})
			bound := newArea(t, AreaOptions{Bytes: 8 * pageSize, Node: nodes.First()})
			for a, want := range map[*Area]int{floats: node, bound: nodes.First()} {
				assert.Equal(t, map[int]int{want: 8}, touched(t, a))
			}
		}
	}
	require.NoError(t, SetMempolicy(MempolicyInterleave, nodes))
	a := newArea(t, AreaOptions{Bytes: 16 * nodes.Len() * pageSize, Node: -1})
	is := touched(t, a)
	for node := range nodes.All() {
		assert.Equal(t, 16, is[node], "node %d", node)
	}
}

func TestSetPolicyOfAnArea(t *testing.T) {
	nodes := memoryNodes(t)
	a := newArea(t, AreaOptions{Bytes: 1, Node: -1})
	for _, mode := range []Mempolicy{MempolicyBind, MempolicyInterleave} {
		err := a.SetPolicy(mode, nodes)
		skipIfRefusedOrMissing(t, err)
		require.NoError(t, err)
		gotMode, gotNodes, err := a.Policy()
		require.NoError(t, err)
		assert.Equal(t, mode, gotMode)
		assert.True(t, nodes.Equal(gotNodes), "%v of %v", mode, gotNodes)
	}
	require.NoError(t, a.SetPolicy(MempolicyDefault, cpuset.Set{}))
	mode, _, err := a.Policy()
	require.NoError(t, err)
	assert.Equal(t, MempolicyDefault, mode)
	assert.ErrorContains(t, a.SetPolicy(MempolicyBind, cpuset.Set{}), "takes 1 to 65536 nodes, not 0")
}

func TestHomeNode(t *testing.T) {
	nodes := memoryNodes(t)
	err := HaveHomeNode()
	skipIfRefusedOrMissing(t, err)
	require.NoError(t, err)
	for home := range nodes.All() {
		a := newArea(t, AreaOptions{Bytes: 8 * pageSize, Node: -1})
		require.NoError(t, a.SetPolicy(MempolicyPreferredMany, nodes))
		require.NoError(t, a.SetHomeNode(home))
		assert.Equal(t, map[int]int{home: 8}, touched(t, a))
	}

	a := newArea(t, AreaOptions{Bytes: 1, Node: -1})
	const says = "neither bind nor preferred-many"
	assert.ErrorContains(t, a.SetHomeNode(nodes.First()), says)
	require.NoError(t, a.SetPolicy(MempolicyInterleave, nodes))
	assert.ErrorContains(t, a.SetHomeNode(nodes.First()), says)
	require.NoError(t, a.SetPolicy(MempolicyBind, nodes))
	for _, node := range []int{-1, maxNodes - 1, maxNodes} {
		assert.ErrorContains(t, a.SetHomeNode(node), "no such node is online")
	}
}

// The results of the probes on simulated other kernels.
func TestMempolicyProbes(t *testing.T) {
	memoryNodes(t)
	preferredMany := func() error { return HaveMempolicy(MempolicyPreferredMany) }
	allowed := func() error { _, err := MemsAllowed(); return err }
	get := func() error { _, _, err := GetMempolicy(); return err }
	set := func() error { return SetMempolicy(MempolicyLocal, cpuset.Set{}) }
	anyGet := refused{unix.SYS_GET_MEMPOLICY, -1, 0}
	anyHome := refused{unix.SYS_SET_MEMPOLICY_HOME_NODE, -1, 0}
	for name, test := range map[string]struct {
		probe func() error
		errno syscall.Errno
		refused
		want error
	}{
		"policy, before 5.15":    {preferredMany, unix.EINVAL, refused{unix.SYS_MBIND, 2, 5}, errors.ErrUnsupported},
		"policy, seccomp":        {preferredMany, unix.EPERM, refused{unix.SYS_MBIND, -1, 0}, fs.ErrPermission},
		"policy, no NUMA":        {preferredMany, unix.ENOSYS, anyGet, errors.ErrUnsupported},
		"nodes, no NUMA":         {allowed, unix.ENOSYS, anyGet, errors.ErrUnsupported},
		"read, seccomp":          {get, unix.EPERM, anyGet, fs.ErrPermission},
		"set, seccomp":           {set, unix.EPERM, refused{unix.SYS_SET_MEMPOLICY, -1, 0}, fs.ErrPermission},
		"home node, before 5.17": {HaveHomeNode, unix.ENOSYS, anyHome, errors.ErrUnsupported},
		"home node, seccomp":     {HaveHomeNode, unix.EPERM, anyHome, fs.ErrPermission},
	} {
		t.Run(name, func(t *testing.T) {
			refuse(t, test.errno, test.refused)
			err := test.probe()
			require.ErrorIs(t, err, test.want)
			if test.errno == unix.EPERM {
				assert.NotErrorIs(t, err, errors.ErrUnsupported)
				assert.Contains(t, hint.Of(err), "--cap-add SYS_NICE")
			}
		})
	}
	assert.ErrorContains(t, HaveMempolicy(6), "no memory policy 6")
}

// A kernel that supports more nodes than a small mask holds refuses it, and the call is repeated with a larger one.
func TestGetMempolicyOfALargeKernel(t *testing.T) {
	runtime.LockOSThread()
	want, wantNodes, err := GetMempolicy()
	skipIfRefusedOrMissing(t, err)
	require.NoError(t, err)
	t.Run("EINVAL", func(t *testing.T) { // a separate thread, which ends with the filter
		refuse(t, unix.EINVAL, refused{unix.SYS_GET_MEMPOLICY, 2, commonWords*64 + 1})
		got, nodes, err := GetMempolicy()
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.Equal(t, wantNodes, nodes)
	})
}
