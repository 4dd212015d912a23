package linux

import (
	"fmt"
	"os"
	"strings"
	"unsafe"
)

// PageKind says with which pages an Area is to be backed.
type PageKind int

// The kinds of pages. Pages4K are base pages, which some arm64 kernels make 16 or 64 KiB.
const (
	Pages4K  PageKind = iota
	PagesTHP          // a wish: the kernel gives huge pages where it has them (Area.PageSizes tells)
	Pages2M
	Pages1G
)

// PageKinds is the table of kinds, in the order of help and completion.
var PageKinds = [...]struct {
	Kind    PageKind
	Name    string
	Align   int  // bytes: an Area begins at a multiple of it and is rounded up to one
	HugeTLB bool // taken from the pool of reserved pages, with an errno where the pool is empty
	Meaning string
}{
	{Pages4K, "4k", os.Getpagesize(), false, "base pages only (MADV_NOHUGEPAGE)"},
	{PagesTHP, "thp", 2 << 20, false, "transparent huge pages where the kernel has them (MADV_HUGEPAGE)"},
	{Pages2M, "2m", 2 << 20, true, "reserved pages of 2 MiB (MAP_HUGETLB)"},
	{Pages1G, "1g", 1 << 30, true, "reserved pages of 1 GiB (MAP_HUGETLB)"},
}

// String writes the kind as ParsePageKind reads it.
func (k PageKind) String() string {
	for _, p := range PageKinds {
		if p.Kind == k {
			return p.Name
		}
	}
	return fmt.Sprintf("page kind %d", int(k))
}

// ParsePageKind reads "4k", "thp", "2m" or "1g".
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

// AreaOptions says what an Area is to be.
type AreaOptions struct {
	Bytes int
	Node  int // the only node that its pages may come from; -1: where each is touched first, by the thread's policy
	Pages PageKind
}

// Area is anonymous memory outside the Go heap (mmap(2)), in a mapping that the kernel merges with no other. It begins
// at a page boundary. Nobody may touch it after Free.
type Area struct {
	bytes []byte // as long as asked for
	pages []byte // the same memory, in whole pages
	kind  PageKind
	node  int

	reserved      unsafe.Pointer // what Free unmaps: the pages, and guards about them
	reservedBytes uintptr
}

// Pointer returns the address of the first byte.
func (a *Area) Pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(a.bytes)) }

// Bytes returns the memory, as long as it was asked for.
func (a *Area) Bytes() []byte { return a.bytes }
