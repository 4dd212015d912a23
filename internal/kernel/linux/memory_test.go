package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux/linuxtest"
	"gorun/internal/kernel/sysfs"
)

func TestPageKinds(t *testing.T) {
	for i, p := range PageKinds {
		got, err := ParsePageKind(p.Name)
		require.NoError(t, err)
		assert.EqualValues(t, i, got)
		assert.Equal(t, p.Name, got.String())
		assert.Zero(t, p.Align&(p.Align-1), "a power of two")
	}
	assert.Equal(t, "page kind 7", PageKind(7).String())
	for _, text := range []string{"", "4K", "4k ", "2M"} {
		_, err := ParsePageKind(text)
		assert.ErrorContains(t, err, "one of 4k, thp, 2m, 1g", text)
	}
}

var pageSize = os.Getpagesize()

// newArea returns an area that is freed after the test. It skips the test, with the reason, if the machine refuses the
// area.
func newArea(t *testing.T, o AreaOptions) *Area {
	t.Helper()
	a, err := NewArea(o)
	skipIfRefusedOrMissing(t, err)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, a.Free()) })
	return a
}

// skipIfRefusedOrMissing skips the test, with the reason, if the kernel forbids or lacks the call, or has no reserved
// pages.
func skipIfRefusedOrMissing(t *testing.T, err error) {
	t.Helper()
	switch {
	case errors.Is(err, unix.ENOMEM):
		t.Skip("needs reserved huge pages")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, errors.ErrUnsupported):
		t.Logf("%v; %s", err, hint.Of(err))
		t.Skip("needs a system call that is refused or missing")
	}
}

// memoryNodes returns the nodes that this process may use memory of, from sysfs and procfs. It skips the test if there
// are none.
func memoryNodes(t *testing.T) cpuset.Set {
	t.Helper()
	nodes, err := sysfs.ReadSet(os.DirFS("/"), "sys/devices/system/node/has_memory")
	if err != nil {
		t.Skip("needs a kernel with NUMA")
	}
	allowed, err := sysfs.ReadField(os.DirFS("/"), "proc/self/status", "Mems_allowed_list")
	if err == nil {
		set, err := cpuset.Parse(allowed)
		require.NoError(t, err)
		nodes = nodes.Intersect(set)
	}
	require.False(t, nodes.Empty())
	return nodes
}

// refused is a system call that a filter refuses, always or for one value of an argument.
type refused struct {
	call  uint32
	arg   int // -1: for all arguments
	value uint32
}

// refuse makes a system call fail with errno on the test's thread, which ends with the test. A seccomp(2) filter for
// one thread needs no privilege.
func refuse(t *testing.T, errno syscall.Errno, r refused) {
	t.Helper()
	runtime.LockOSThread()
	require.NoError(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	err := linuxtest.RefuseArgument(r.call, r.arg, r.value, errno)
	if err != nil {
		t.Skip("needs seccomp filters")
	}
}

// touched touches an area, and returns how many of its pages are on each node.
func touched(t *testing.T, a *Area) map[int]int {
	t.Helper()
	require.NoError(t, a.Touch())
	nodes, err := a.Nodes()
	require.NoError(t, err)
	return nodes
}

// mappingOf returns the lines of smaps for exactly the area's pages.
func mappingOf(t *testing.T, a *Area) string {
	t.Helper()
	text, err := sysfs.ReadString(os.DirFS("/"), "proc/self/smaps")
	require.NoError(t, err)
	first, last := a.span()
	_, after, ok := strings.Cut(text, fmt.Sprintf("%x-%x ", first, last))
	require.True(t, ok, "the area is a separate mapping")
	if !PageKinds[a.kind].HugeTLB {
		assert.Contains(t, text, fmt.Sprintf("-%x ---p ", first), "the guard before it")
		assert.Regexp(t, fmt.Sprintf("\n%x-[0-9a-f]+ ---p ", last), text, "the guard after it")
	}
	block, _, _ := strings.Cut(after, "VmFlags:")
	flags, _, _ := strings.Cut(after[len(block):], "\n")
	return block + flags + " "
}

func TestArea(t *testing.T) {
	for k, kind := range PageKinds {
		k := PageKind(k)
		t.Run(kind.Name, func(t *testing.T) {
			size := kind.Align + 1
			if k == Pages1G {
				size = 2 // bytes: rounded up to one page
			}
			a := newArea(t, AreaOptions{Bytes: size, Node: -1, Pages: k})
			neighbour := newArea(t, AreaOptions{Bytes: size, Node: -1, Pages: k})
			assert.Len(t, a.Bytes(), size)
			assert.Equal(t, unsafe.Pointer(&a.Bytes()[0]), a.Pointer())
			assert.Zero(t, uintptr(a.Pointer())%uintptr(kind.Align))
			whole := (size + kind.Align - 1) / kind.Align * kind.Align
			assert.Len(t, a.pages, whole)

			sizes, err := a.PageSizes(os.DirFS("/"))
			require.NoError(t, err)
			assert.Empty(t, sizes, "no page is touched yet")
			a.Bytes()[size-1] = 7
			require.NoError(t, a.Touch())
			require.NoError(t, neighbour.Touch())
			assert.EqualValues(t, 7, a.Bytes()[size-1], "a touch changes nothing")
			assert.Zero(t, a.Bytes()[0])

			flags := mappingOf(t, a)
			sizes, err = a.PageSizes(os.DirFS("/"))
			require.NoError(t, err)
			switch k {
			case Pages4K:
				assert.Equal(t, map[uint64]uint64{uint64(pageSize): uint64(whole)}, sizes)
				assert.Contains(t, flags, " nh ")
			case PagesTHP:
				var sum uint64
				for _, resident := range sizes {
					sum += resident
				}
				assert.EqualValues(t, whole, sum, "%v", sizes)
				assert.Contains(t, flags, " hg ")
			default:
				assert.Equal(t, map[uint64]uint64{uint64(kind.Align): uint64(whole)}, sizes)
			}
		})
	}
}

func TestAreaNodesBeforeAndAfterTouch(t *testing.T) {
	const pages = 5000
	a := newArea(t, AreaOptions{Bytes: pages * pageSize, Node: -1})
	before, err := a.Nodes()
	skipIfRefusedOrMissing(t, err)
	require.NoError(t, err)
	assert.Equal(t, map[int]int{-1: pages}, before)
	_, err = PageNode(a.Pointer())
	assert.ErrorIs(t, err, fs.ErrNotExist)

	read := a.Bytes()[17*pageSize]
	assert.Zero(t, read)
	nodes, err := a.Nodes()
	require.NoError(t, err)
	assert.Equal(t, before, nodes, "the page of zeros uses no memory")
	_, err = PageNode(unsafe.Pointer(&a.Bytes()[17*pageSize]))
	assert.ErrorIs(t, err, fs.ErrNotExist)

	a.Bytes()[4999*pageSize] = 1
	nodes, err = a.Nodes()
	require.NoError(t, err)
	assert.Equal(t, pages-1, nodes[-1])
	nodes = touched(t, a)
	assert.NotContains(t, nodes, -1)
	sum := 0
	for node, n := range nodes {
		assert.True(t, memoryNodes(t).Contains(node), "node %d", node)
		sum += n
	}
	assert.Equal(t, pages, sum)
}

// On every node with memory: each page is where it was bound to, by numa_maps, by move_pages and by the policy.
func TestAreaIsOnItsNode(t *testing.T) {
	const pages = 64
	for node := range memoryNodes(t).All() {
		for _, kind := range []PageKind{Pages4K, PagesTHP} {
			size := pages * max(PageKinds[kind].Align/16, pageSize)
			a := newArea(t, AreaOptions{Bytes: size, Node: node, Pages: kind})
			mode, nodes, err := a.Policy()
			require.NoError(t, err)
			assert.Equal(t, MempolicyBind, mode)
			assert.Equal(t, cpuset.Of(node), nodes)
			assert.Equal(t, map[int]int{node: size / pageSize}, touched(t, a))
			for i := 0; i < size; i += pageSize {
				got, err := PageNode(unsafe.Pointer(&a.Bytes()[i+pageSize-1]))
				require.NoError(t, err)
				require.Equal(t, node, got, "page %d", i/pageSize)
			}
		}
	}
}

// The nodes can also be read during NUMA balancing, even for pages that wait for their next access.
func TestNodesUnderBalancing(t *testing.T) {
	const pages = 1000
	with := memoryNodes(t)
	if with.Len() == 1 {
		t.Skip("needs 2 nodes with memory")
	}
	if on, err := ReadNUMABalancing(os.DirFS("/")); err != nil || on != 1 {
		t.Skip("needs NUMA balancing")
	}
	runtime.LockOSThread()
	a := newArea(t, AreaOptions{Bytes: pages * pageSize, Node: -1})
	require.NoError(t, a.Touch())
	before, err := ProcessUsage()
	require.NoError(t, err)
	for {
		status, errno := pageStatus(uintptr(a.Pointer()))
		require.Zero(t, errno)
		if status < 0 {
			break
		}
		usage, err := ProcessUsage()
		require.NoError(t, err)
		usage = usage.Sub(before)
		if usage.UserSeconds+usage.SystemSeconds > 5 { // scans start after one second (numa_balancing_scan_delay)
			t.Skip("needs a kernel that hides the nodes of pages under NUMA balancing")
		}
	}
	nodes, err := a.Nodes()
	require.NoError(t, err)
	for node := range nodes {
		assert.True(t, with.Contains(node), "node %d", node)
	}
	for i := range pages { // the kernel may have moved them
		node, err := PageNode(unsafe.Pointer(&a.Bytes()[i*pageSize]))
		require.NoError(t, err, "page %d", i)
		assert.True(t, with.Contains(node), "page %d on node %d", i, node)
	}
}

func TestAreaOnANodeWithoutMemory(t *testing.T) {
	with := memoryNodes(t)
	possible, err := sysfs.ReadSet(os.DirFS("/"), "sys/devices/system/node/possible")
	require.NoError(t, err)
	for node := range possible.Union(cpuset.Of(with.Last()+1, 1023, 1024, cpuset.Max)).Minus(with).All() {
		_, err := NewArea(AreaOptions{Bytes: 1, Node: node})
		if errors.Is(err, fs.ErrPermission) {
			skipIfRefusedOrMissing(t, err)
		}
		require.ErrorIs(t, err, unix.EINVAL, "node %d", node)
		assert.ErrorContains(t, err, fmt.Sprintf("bind of node %d: invalid argument: this process may use no memory on these nodes", node))
		assert.Contains(t, hint.Of(err), "its nodes are "+with.String()+" (Mems_allowed_list")
	}
}

func TestNewAreaRefuses(t *testing.T) {
	for says, o := range map[string]AreaOptions{
		"no area can have 0 bytes":  {Node: -1},
		"no area can have -1 bytes": {Bytes: -1, Node: -1},
		"no area can have 9":        {Bytes: math.MaxInt, Node: -1},
		"cannot allocate memory":    {Bytes: math.MaxInt / 2, Node: -1},
	} {
		_, err := NewArea(o)
		assert.ErrorContains(t, err, says)
	}
}

// Either there are reserved pages, or the error says how to get some.
func TestAreaWithoutReservedPages(t *testing.T) {
	for _, node := range []int{-1, 0} {
		_, err := NewArea(AreaOptions{Bytes: 1 << 40, Node: node, Pages: Pages2M})
		require.Error(t, err)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip("needs a kernel with huge pages")
		}
		assert.ErrorIs(t, err, unix.ENOMEM)
		dir := map[int]string{-1: "/sys/kernel/mm", 0: "/sys/devices/system/node/node0"}[node]
		assert.Contains(t, hint.Of(err), "echo 524288 > "+dir+"/hugepages/hugepages-2048kB/nr_hugepages")
	}
}

func TestFree(t *testing.T) {
	a, err := NewArea(AreaOptions{Bytes: 1, Node: -1})
	require.NoError(t, err)
	p := a.Pointer()
	a.Bytes()[0] = 1
	require.NoError(t, a.Free())
	require.NoError(t, a.Free())
	assert.Empty(t, a.Bytes())
	assert.ErrorIs(t, unix.Msync(unsafe.Slice((*byte)(p), 1), unix.MS_ASYNC), unix.ENOMEM, "the mapping is gone")
}

func TestAreaOnAKernelWithoutNUMA(t *testing.T) {
	refuse(t, unix.ENOSYS, refused{unix.SYS_MBIND, -1, 0})
	for _, node := range []int{-1, 0} {
		a, err := NewArea(AreaOptions{Bytes: 1, Node: node})
		require.NoError(t, err)
		require.NoError(t, a.Free())
	}
	_, err := NewArea(AreaOptions{Bytes: 1, Node: 1})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	assert.ErrorContains(t, err, "without NUMA")

	refuse(t, unix.ENOSYS, refused{unix.SYS_MOVE_PAGES, -1, 0})
	a := newArea(t, AreaOptions{Bytes: 1, Node: -1})
	_, err = PageNode(a.Pointer())
	assert.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestAreaUnderASeccompProfile(t *testing.T) {
	refuse(t, unix.EPERM, refused{unix.SYS_MBIND, -1, 0})
	refuse(t, unix.EPERM, refused{unix.SYS_MOVE_PAGES, -1, 0})
	_, err := NewArea(AreaOptions{Bytes: 1, Node: 0})
	require.ErrorIs(t, err, fs.ErrPermission)
	assert.Contains(t, hint.Of(err), "--cap-add SYS_NICE")
	a := newArea(t, AreaOptions{Bytes: 1, Node: -1})
	_, err = PageNode(a.Pointer())
	require.ErrorIs(t, err, fs.ErrPermission)
	assert.Contains(t, hint.Of(err), "--cap-add SYS_NICE")
	nodes, err := a.Nodes()
	if !errors.Is(err, errors.ErrUnsupported) {
		require.NoError(t, err)
		assert.Equal(t, map[int]int{-1: 1}, nodes)
	}
}

func TestTouchOnAnOldKernel(t *testing.T) {
	refuse(t, unix.EINVAL, refused{unix.SYS_MADVISE, 2, unix.MADV_POPULATE_WRITE})
	const pages = 33
	a := newArea(t, AreaOptions{Bytes: pages * pageSize, Node: -1})
	a.Bytes()[pageSize] = 3
	require.NoError(t, a.Touch())
	sizes, err := a.PageSizes(os.DirFS("/"))
	require.NoError(t, err)
	assert.Equal(t, map[uint64]uint64{uint64(pageSize): uint64(pages * pageSize)}, sizes)
	assert.EqualValues(t, 3, a.Bytes()[pageSize])
}

func TestTouchWithoutAPageLeft(t *testing.T) {
	refuse(t, unix.EFAULT, refused{unix.SYS_MADVISE, 2, unix.MADV_POPULATE_WRITE})
	a := newArea(t, AreaOptions{Bytes: 1, Node: -1})
	assert.ErrorContains(t, a.Touch(), fmt.Sprintf("touch %d bytes of 4k pages: bad address", pageSize))
}

func TestAreaOnAKernelWithoutTransparentHugePages(t *testing.T) {
	refuse(t, unix.EINVAL, refused{unix.SYS_MADVISE, 2, unix.MADV_HUGEPAGE})
	refuse(t, unix.EINVAL, refused{unix.SYS_MADVISE, 2, unix.MADV_NOHUGEPAGE})
	newArea(t, AreaOptions{Bytes: 1, Node: -1})
	_, err := NewArea(AreaOptions{Bytes: 1, Node: -1, Pages: PagesTHP})
	assert.ErrorIs(t, err, errors.ErrUnsupported)
}
