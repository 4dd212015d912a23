package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"gorun/internal/kernel/sysfs"
)

// PageSizes returns how many of the area's bytes are resident in pages of each size, from /proc/self/smaps
// (proc_pid_smaps(5)) in root, which is rooted at /. Folios between a base page and a huge one (mTHP) count as base
// pages: smaps does not distinguish them.
//
// While NUMA balancing waits for the next access to a huge page, some kernels (such as 6.1.192) list it in numa_maps
// but not in smaps. Pages that are only in numa_maps therefore count as huge pages.
func (a *Area) PageSizes(root fs.FS) (map[uint64]uint64, error) {
	huge, err := sysfs.ReadSize(root, "sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
	if errors.Is(err, fs.ErrNotExist) {
		huge, err = 2<<20, nil // before Linux 4.11, on x86-64
	}
	if err != nil {
		return nil, err
	}
	nodes, err := a.nodeBytes(root) // before smaps, so that a page allocated between the two is not only in numa_maps
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	const file = "proc/self/smaps"
	text, err := sysfs.ReadString(root, file)
	if err != nil {
		return nil, err
	}
	mappings, err := parseSmaps(text)
	if err != nil {
		return nil, sysfs.Malformed(file, "%v", err)
	}
	first, last := a.span()
	sizes := pageSizes(mappings, first, last, huge)
	var hidden uint64
	for _, bytes := range nodes {
		hidden += bytes
	}
	for _, bytes := range sizes {
		hidden -= min(hidden, bytes)
	}
	if hidden > 0 {
		sizes[huge] += hidden
	}
	return sizes, nil
}

// nodeBytes returns how many of the area's bytes are on each node, from /proc/self/numa_maps (numa(7)) in root.
func (a *Area) nodeBytes(root fs.FS) (map[int]uint64, error) {
	const file = "proc/self/numa_maps"
	text, err := sysfs.ReadString(root, file)
	if err != nil {
		return nil, err
	}
	first, last := a.span()
	nodes, err := parseNUMAMaps(text, first, last)
	if err != nil {
		return nil, sysfs.Malformed(file, "%v", err)
	}
	return nodes, nil
}

// ProcessNodes returns how many bytes of a process's memory are on each node, from its numa_maps. It takes some 15 ms for 1 GiB in pages of
// 4 KiB.
func ProcessNodes(pid int) (map[int]uint64, error) {
	text, err := ReadProc(fmt.Sprintf("/proc/%d/numa_maps", pid))
	if err != nil {
		return nil, err
	}
	return parseNUMAMaps(string(text), 0, math.MaxUint64)
}

// ProcessHuge returns how many bytes of a process's memory belong to no file, and how many of them are in huge pages, from its
// smaps_rollup (Linux 4.14). It takes as long as ProcessNodes.
func ProcessHuge(pid int) (anonymous, huge uint64, err error) {
	text, err := ReadProc(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, 0, err
	}
	mappings, err := parseSmaps(string(text))
	for _, m := range mappings {
		anonymous, huge = anonymous+m.anonymous+m.hugetlb, huge+m.anonHuge+m.hugetlb
	}
	return anonymous, huge, err
}

// span returns the addresses of the first byte and of the first one after the area.
func (a *Area) span() (first, last uint64) {
	first = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(a.pages))))
	return first, first + uint64(len(a.pages))
}

// pageSizes sums the mappings that lie within first…last, by the size of their pages. Sizes and addresses are in bytes.
func pageSizes(mappings []mapping, first, last, huge uint64) map[uint64]uint64 {
	sizes := map[uint64]uint64{}
	for _, m := range mappings {
		if m.first < first || m.last > last {
			continue
		}
		sizes[huge] += m.anonHuge
		sizes[m.pageSize] += m.rss - min(m.rss, m.anonHuge) + m.hugetlb
	}
	maps.DeleteFunc(sizes, func(_, resident uint64) bool { return resident == 0 })
	return sizes
}

// mapping is the entry of one mapping in smaps, in bytes.
type mapping struct {
	first, last uint64 // addresses; last is the first byte after it
	pageSize    uint64 // KernelPageSize: that of the pool for reserved pages, else the base page
	rss         uint64 // without reserved pages
	anonHuge    uint64 // part of anonymous in transparent huge pages
	anonymous   uint64 // part of rss that belongs to no file
	hugetlb     uint64 // in reserved pages, private and shared
}

// parseSmaps reads mappings of "first-last perms …" and lines of "Name: N kB"; it skips the names it does not know.
func parseSmaps(text string) ([]mapping, error) {
	var mappings []mapping
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, " ")
		key, isField := strings.CutSuffix(name, ":")
		if !isField {
			first, last, ok := strings.Cut(name, "-")
			from, fromErr := strconv.ParseUint(first, 16, 64)
			to, toErr := strconv.ParseUint(last, 16, 64)
			if !ok || fromErr != nil || toErr != nil || to < from {
				return nil, fmt.Errorf("%.60q is neither a mapping nor a field", line)
			}
			mappings = append(mappings, mapping{first: from, last: to})
			continue
		}
		if len(mappings) == 0 {
			return nil, fmt.Errorf("%.60q belongs to no mapping", line)
		}
		m := &mappings[len(mappings)-1]
		var field *uint64
		switch key {
		case "KernelPageSize":
			field = &m.pageSize
		case "Rss":
			field = &m.rss
		case "Anonymous":
			field = &m.anonymous
		case "AnonHugePages":
			field = &m.anonHuge
		case "Shared_Hugetlb", "Private_Hugetlb":
			field = &m.hugetlb
		default:
			continue
		}
		digits, ok := strings.CutSuffix(strings.TrimSpace(value), " kB")
		kb, err := strconv.ParseUint(digits, 10, 48) // 58 in bytes
		if !ok || err != nil {
			return nil, fmt.Errorf("%.60q is not a number of kB", line)
		}
		*field += kb << 10
	}
	return mappings, nil
}

// parseNUMAMaps returns how many bytes the mappings that begin in first…last have on each node. A line is "address
// policy …" with fields such as "N0=512", in pages of "kernelpagesize_kB=4"; a mapping without a page has neither.
func parseNUMAMaps(text string, first, last uint64) (map[int]uint64, error) {
	nodes := map[int]uint64{}
	for line := range strings.Lines(text) {
		address, fields, _ := strings.Cut(line, " ")
		begin, err := strconv.ParseUint(address, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("%.60q has no address", line)
		}
		if begin < first || begin >= last {
			continue
		}
		pages, kb := map[int]uint64{}, uint64(0)
		for field := range strings.FieldsSeq(fields) {
			key, value, _ := strings.Cut(field, "=")
			digits, isNode := strings.CutPrefix(key, "N")
			if !isNode && key != "kernelpagesize_kB" {
				continue
			}
			n, err := strconv.ParseUint(value, 10, 40)
			if err != nil {
				return nil, fmt.Errorf("%.60q is not a number of pages or kB", field)
			}
			if !isNode {
				kb = n
				continue
			}
			node, err := strconv.ParseUint(digits, 10, 16)
			if err != nil {
				return nil, fmt.Errorf("%.60q is not of a node", field)
			}
			pages[int(node)] = n
		}
		if len(pages) > 0 && kb == 0 {
			return nil, fmt.Errorf("%.60q does not say the size of its pages", line)
		}
		for node, n := range pages {
			nodes[node] += n * kb << 10
		}
	}
	return nodes, nil
}
