package linux

import (
	"fmt"
	"os"
	"strings"
	"unsafe"
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
	Kind    PageKind
	Name    string
	Align   int  // bytes: the start and the size of an Area are multiples of it
	HugeTLB bool // from the pool of reserved pages, with an errno if the pool is empty
	Meaning string
}{
	{Pages4K, "4k", os.Getpagesize(), false, "base pages only (MADV_NOHUGEPAGE)"},
	{PagesTHP, "thp", 2 << 20, false, "transparent huge pages if the kernel has them (MADV_HUGEPAGE)"},
	{Pages2M, "2m", 2 << 20, true, "reserved pages of 2 MiB (MAP_HUGETLB)"},
	{Pages1G, "1g", 1 << 30, true, "reserved pages of 1 GiB (MAP_HUGETLB)"},
}

// String returns the kind in the form that ParsePageKind accepts.
func (k PageKind) String() string {
	for _, p := range PageKinds {
		if p.Kind == k {
			return p.Name
		}
	}
	return fmt.Sprintf("page kind %d", int(k))
}

// ParsePageKind parses "4k", "thp", "2m" or "1g".
func ParsePageKind(text string) (PageKind, error) {
	names := make([]string, len(PageKinds))
	for i, p := range PageKinds {
		if p.Name == text {
			return p.Kind, nil
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
