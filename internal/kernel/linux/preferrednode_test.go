package linux

import (
	"errors"
	"io/fs"
	"runtime"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/sysfs"
)

// A kernel with the patch (make vm-pnid) sets a preferred node and returns it, with either layout of the call. On other
// kernels the call is not made.
func TestPreferredNode(t *testing.T) {
	runtime.LockOSThread()
	err := HavePreferredNode()
	if errors.Is(err, errors.ErrUnsupported) {
		assert.ErrorIs(t, SetPreferredNode(0, 0), errors.ErrUnsupported)
		refuse(t, unix.EPERM, refused{unix.SYS_PRCTL, 0, uint32(preferredNodeLayouts[0].option)})
		refuse(t, unix.EPERM, refused{unix.SYS_PRCTL, 0, uint32(preferredNodeLayouts[1].option)})
		assert.NotErrorIs(t, HavePreferredNode(), fs.ErrPermission, "a call was made")
		t.Skip("needs a kernel with preferred nodes: make vm-pnid")
	}
	skipIfRefusedOrMissing(t, err)
	require.NoError(t, err)
	nodes := memoryNodes(t)
	for _, tid := range []int{0, otherThread(t)} {
		for _, node := range append(nodes.List(), -1) {
			require.NoError(t, SetPreferredNode(tid, node))
			got, err := PreferredNode(tid)
			require.NoError(t, err)
			assert.Equal(t, node, got)
		}
	}
	assert.ErrorIs(t, SetPreferredNode(0, 1<<20), unix.EINVAL)
	assert.ErrorIs(t, SetPreferredNode(0, -2), unix.EINVAL)
	assert.ErrorIs(t, SetPreferredNode(missingTID, 0), unix.ESRCH)
	for errno, want := range map[syscall.Errno]error{
		unix.EPERM:  fs.ErrPermission,
		unix.EINVAL: errors.ErrUnsupported,
		0:           errors.ErrUnsupported, // the call does something else, and returns no node
	} {
		t.Run(unix.ErrnoName(errno), func(t *testing.T) {
			runtime.LockOSThread()
			for _, layout := range preferredNodeLayouts {
				refuse(t, errno, refused{unix.SYS_PRCTL, 0, uint32(layout.option)})
			}
			err := HavePreferredNode()
			require.ErrorIs(t, err, want)
			if errno == unix.EPERM {
				assert.NotEmpty(t, hint.Of(err))
			}
		})
	}
}

// A thread's /proc/PID/sched decides whether the call may be made.
func TestListedPreferredNode(t *testing.T) {
	const before, after = "gorun (7, #threads: 1)\n----\nmm->numa_scan_seq  :   3\nnuma_preferred_nid  :   1\n",
		"total_numa_faults   :   0\n"
	for name, c := range map[string]struct {
		tid  int
		file fstest.MapFS
		node int
		err  error
	}{
		"none":        {file: sched("thread-self", before+"numa_preferred_nid_force   :   -1\n"+after), node: -1},
		"a node":      {tid: 8, file: sched("8", before+"numa_preferred_nid_force   :   12\n"+after), node: 12},
		"not patched": {file: sched("thread-self", before+after), err: errors.ErrUnsupported},
		"no file":     {file: fstest.MapFS{}, err: errors.ErrUnsupported},
		"no thread":   {tid: 8, file: sched("thread-self", before), err: fs.ErrNotExist},
		"no number":   {file: sched("thread-self", "numa_preferred_nid_force : x\n"), err: sysfs.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			node, err := listedPreferredNode(c.file, c.tid)
			require.ErrorIs(t, err, c.err)
			if c.err == nil {
				assert.Equal(t, c.node, node)
			}
		})
	}
}

func sched(thread, text string) fstest.MapFS {
	return fstest.MapFS{"proc/" + thread + "/sched": {Data: []byte(text)}}
}
