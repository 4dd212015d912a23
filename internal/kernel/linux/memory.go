package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"gorun/internal/kernel/cpuset"
)

// PageKind is the kind of pages that back an Area.
type PageKind int

// The kinds of pages. Pages4K are base pages, which some arm64 kernels make 16 or 64 KiB.
const (
	Pages4K  PageKind = iota
	PagesTHP          // a request: the kernel gives huge pages if it has them (see Area.PageSizes)
	Pages2M
	Pages1G
)

// PageKinds lists the kinds, in the order of help and completion.
var PageKinds = [...]struct {
	Name    string
	Align   int  // bytes: the start and the size of an Area are multiples of it
	HugeTLB bool // from the pool of reserved pages, with an errno if the pool is empty
	Meaning string
}{
	Pages4K:  {"4k", os.Getpagesize(), false, "base pages only (MADV_NOHUGEPAGE)"},
	PagesTHP: {"thp", 2 << 20, false, "transparent huge pages if the kernel has them (MADV_HUGEPAGE)"},
	Pages2M:  {"2m", 2 << 20, true, "reserved pages of 2 MiB (MAP_HUGETLB)"},
	Pages1G:  {"1g", 1 << 30, true, "reserved pages of 1 GiB (MAP_HUGETLB)"},
}

// String returns the kind in the form that ParsePageKind accepts.
func (k PageKind) String() string {
	if k >= 0 && int(k) < len(PageKinds) {
		return PageKinds[k].Name
	}
	return fmt.Sprintf("page kind %d", int(k))
}

// ParsePageKind parses "4k", "thp", "2m" or "1g".
func ParsePageKind(text string) (PageKind, error) {
	names := make([]string, len(PageKinds))
	for i, p := range PageKinds {
		if p.Name == text {
			return PageKind(i), nil
		}
		names[i] = p.Name
	}
	return 0, fmt.Errorf("not a kind of pages: %q (one of %s)", text, strings.Join(names, ", "))
}

// AreaOptions are the options of NewArea.
type AreaOptions struct {
	Bytes int
	Node  int // the only node of its pages; -1: the thread's policy decides at the first touch
	Pages PageKind
}

// Area is anonymous memory outside the Go heap (mmap(2)), in a mapping that the kernel never merges with another. It
// starts at a page boundary. It must not be accessed after Free.
type Area struct {
	bytes []byte // of the requested size
	pages []byte // the same memory, in whole pages
	kind  PageKind
	node  int

	reserved      unsafe.Pointer // unmapped by Free: the pages, and the guards around them
	reservedBytes uintptr
}

// Pointer returns the address of the first byte.
func (a *Area) Pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(a.bytes)) }

// Bytes returns the memory, in the requested size.
func (a *Area) Bytes() []byte { return a.bytes }

// NewArea maps memory and binds it to its node (mbind(2), MPOL_BIND). It touches no page. A kernel without NUMA has
// only node 0, for which no policy is set.
func NewArea(o AreaOptions) (*Area, error) {
	align := PageKinds[o.Pages].Align
	const most = math.MaxInt / 2 // leaves room for rounding; the kernel's own bound is far lower
	if o.Bytes <= 0 || o.Bytes > most {
		return nil, fmt.Errorf("map memory: no area can have %d bytes", o.Bytes)
	}
	a := &Area{kind: o.Pages, node: o.Node}
	if err := a.mmap((o.Bytes + align - 1) / align * align); err != nil {
		return nil, err
	}
	a.bytes = a.pages[:o.Bytes]
	if err := a.advise(); err != nil {
		return nil, errors.Join(err, a.Free())
	}
	if o.Node == -1 {
		return a, nil
	}
	err := a.SetPolicy(MempolicyBind, cpuset.Of(o.Node))
	if err != nil && (o.Node != 0 || !errors.Is(err, errors.ErrUnsupported)) {
		return nil, errors.Join(err, a.Free())
	}
	return a, nil
}

// mmap maps whole pages. Ordinary pages are between two inaccessible guards. These keep the kernel from merging the
// mapping with an adjacent one, whose pages smaps would count with ours, and a loop that overruns the memory faults
// there. Mappings of reserved pages never merge (they are VM_DONTEXPAND).
func (a *Area) mmap(size int) error {
	kind := PageKinds[a.kind]
	const flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	op := fmt.Sprintf("map %d bytes of %v pages", size, a.kind)
	var err error
	if kind.HugeTLB {
		order := 0
		for 1<<order < kind.Align {
			order++
		}
		a.reservedBytes = uintptr(size)
		a.reserved, err = unix.MmapPtr(-1, 0, nil, a.reservedBytes, unix.PROT_READ|unix.PROT_WRITE,
			flags|unix.MAP_HUGETLB|order<<unix.MAP_HUGE_SHIFT)
		if err != nil {
			return a.hugeError(op, err, size)
		}
		a.pages = unsafe.Slice((*byte)(a.reserved), size)
		return nil
	}
	a.reservedBytes = uintptr(size + 2*kind.Align)
	a.reserved, err = unix.MmapPtr(-1, 0, nil, a.reservedBytes, unix.PROT_NONE, flags)
	if err != nil {
		return &Error{Op: op, Err: err}
	}
	guard := kind.Align - int(uintptr(a.reserved)%uintptr(kind.Align)) // 1…Align bytes, in whole base pages
	a.pages = unsafe.Slice((*byte)(unsafe.Add(a.reserved, guard)), size)
	if err := unix.Mprotect(a.pages, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return errors.Join(&Error{Op: op, Err: err}, a.Free())
	}
	return nil
}

// hugeError explains why there are no reserved pages.
func (a *Area) hugeError(op string, err error, size int) error {
	kind := PageKinds[a.kind]
	dir := fmt.Sprintf("hugepages/hugepages-%dkB", kind.Align>>10)
	if _, statErr := os.Stat("/sys/kernel/mm/" + dir); statErr != nil {
		return &Error{Op: op, Err: fmt.Errorf("this machine has no pages of that size: %w", errors.ErrUnsupported)}
	}
	pool := "/sys/kernel/mm/" + dir
	if a.node >= 0 {
		pool = fmt.Sprintf("/sys/devices/system/node/node%d/%s", a.node, dir)
	}
	return &Error{
		Op: op, Err: fmt.Errorf("the pool of reserved pages has too few left: %w", err),
		Remedy: fmt.Sprintf("as root: echo %d > %s/nr_hugepages", size/kind.Align, pool),
	}
}

// advise requests the kind of pages (madvise(2)). On a kernel without transparent huge pages, base pages need no
// request.
func (a *Area) advise() error {
	switch a.kind {
	case Pages4K:
		if err := unix.Madvise(a.pages, unix.MADV_NOHUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) {
			return &Error{Op: "ask for base pages", Err: err}
		}
	case PagesTHP:
		err := unix.Madvise(a.pages, unix.MADV_HUGEPAGE)
		if errors.Is(err, unix.EINVAL) {
			err = fmt.Errorf("%w: this kernel has none: %w", err, errors.ErrUnsupported)
		}
		if err != nil {
			return &Error{Op: "ask for transparent huge pages", Err: err}
		}
	}
	return nil
}

// Touch makes every page present, as the calling thread's first write to it would, without changing it. If the pool of
// reserved pages is empty it returns an error, whereas a write would end the process by SIGBUS (madvise(2),
// MADV_POPULATE_WRITE; before Linux 5.14 Touch writes too). If the node has no memory left it returns no error: the
// kernel kills a process.
func (a *Area) Touch() error {
	err := unix.Madvise(a.pages, unix.MADV_POPULATE_WRITE)
	op := fmt.Sprintf("touch %d bytes of %v pages", len(a.pages), a.kind)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL):
		for i := 0; i < len(a.pages); i += os.Getpagesize() {
			atomic.AddUint32((*uint32)(unsafe.Pointer(&a.pages[i])), 0)
		}
		return nil
	case PageKinds[a.kind].HugeTLB:
		return a.hugeError(op, err, len(a.pages))
	}
	return &Error{Op: op, Err: err}
}

// Free unmaps the memory. A second call does nothing.
func (a *Area) Free() error {
	if a.reserved == nil {
		return nil
	}
	if err := unix.MunmapPtr(a.reserved, a.reservedBytes); err != nil {
		return &Error{Op: "free memory", Err: err}
	}
	*a = Area{}
	return nil
}

// Nodes returns the number of the area's pages on each node, in base pages, from /proc/self/numa_maps. Pages that are
// absent or were only read (these share the page of zeros) count under -1. That file needs no privilege, and it is
// right where move_pages(2) is not: see PageNode.
func (a *Area) Nodes() (map[int]int, error) {
	bytes, err := a.nodeBytes(os.DirFS("/"))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: this kernel was built without NUMA: %w", err, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, &Error{Op: "read the nodes of memory", Err: err}
	}
	page := os.Getpagesize()
	nodes, absent := map[int]int{}, len(a.pages)/page
	for node, n := range bytes {
		nodes[node] = int(n) / page
		absent -= nodes[node]
	}
	if absent > 0 {
		nodes[-1] = absent
	}
	return nodes, nil
}

// PageNode returns the node of the page that holds p (move_pages(2)). For a page that was never written the error is
// fs.ErrNotExist. p must not point into a goroutine's stack, which moves.
//
// Some kernels (such as 6.1.192) report a page as absent while NUMA balancing waits for the next access to it. Then
// PageNode reads the page, which may move it as any access may.
func PageNode(p unsafe.Pointer) (int, error) {
	const op = "read the node of a page"
	page := uintptr(p) &^ uintptr(os.Getpagesize()-1)
	node, errno := pageStatus(page)
	if errno == 0 && node == -int32(unix.ENOENT) && resident(page) {
		atomic.LoadUint32((*uint32)(unsafe.Pointer(uintptr(p) &^ 3)))
		node, errno = pageStatus(page)
	}
	runtime.KeepAlive(p)
	if err := mempolicyError(op, errno, cpuset.Set{}); err != nil {
		return -1, err
	}
	switch errno := syscall.Errno(-node); {
	case node >= 0:
		return int(node), nil
	case errno == unix.EFAULT: // no mapping, or the page of zeros: never written
		return -1, &Error{Op: op, Err: unix.ENOENT}
	default:
		return -1, &Error{Op: op, Err: errno}
	}
}

// pageStatus returns the node of a page of this process, or the kernel's negative errno for the page.
func pageStatus(page uintptr) (status int32, errno syscall.Errno) {
	_, _, errno = unix.Syscall6(unix.SYS_MOVE_PAGES, 0, 1, uintptr(unsafe.Pointer(&page)), 0,
		uintptr(unsafe.Pointer(&status)), 0)
	return status, errno
}

// resident reports whether a page is in memory (mincore(2)).
func resident(page uintptr) bool {
	var status byte
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, page, 1, uintptr(unsafe.Pointer(&status)))
	return errno == 0 && status&1 != 0
}
