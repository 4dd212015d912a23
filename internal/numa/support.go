package numa

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"gorun/csrc"
	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/result"
	"gorun/internal/sysfs"
	"gorun/internal/topology"
)

// Support describes which rows a machine can measure. Its zero value supports everything except reserved pages.
type Support struct {
	// From the machine's files.

	Balancing int                       // current NUMA balancing; 0 also if the kernel has none
	Unread    error                     // why Balancing is unknown; nil: it is known
	Reserved  map[string]map[int]uint64 // available pages by kind, on each node and, under -1, in total; no kind: none
	Memory    map[int]uint64            // bytes of each node with memory; 0: unknown

	// From the running kernel; nil or empty: supported, or not probed.
	Kernels      error // the probe's kernels, which a build without cgo lacks
	SetBalancing error // why NUMA balancing cannot be changed
	Prctl        error
	Mempolicy    error
	Bind         error // of memory to a node
	BindBalanced error // so that NUMA balancing scans it
	THP          error
	Mems         cpuset.Set // nodes that this process may use memory of
}

// ReadSupport reads the files of a machine, which may be a captured one. root is rooted at /. The warnings name
// malformed files of reserved pages: then there are none of that kind.
func ReadSupport(root fs.FS, m *topology.Machine) (s Support, warnings []string) {
	s = Support{Reserved: map[string]map[int]uint64{}, Memory: map[int]uint64{}}
	for _, node := range m.Nodes {
		if node.HasMemory() {
			s.Memory[node.Node] = 0
			if node.MemoryBytes != nil {
				s.Memory[node.Node] = *node.MemoryBytes
			}
		}
	}
	if s.Balancing, s.Unread = linux.ReadNUMABalancing(root); errors.Is(s.Unread, linux.ErrNoNUMABalancing) {
		s.Unread = nil
	}
	for _, kind := range linux.PageKinds {
		if !kind.HugeTLB {
			continue
		}
		free, err := readReserved(root, m, kind.Align)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("%v; pages of %s are left out", err, kind.Name))
			continue
		}
		s.Reserved[kind.Name] = free
	}
	return s, warnings
}

// readReserved returns the number of available reserved pages of this size on each node, and under -1 in total: those
// of the pool that are free and not reserved, and those that may be added to it
// (Documentation/admin-guide/mm/hugetlbpage.rst).
func readReserved(root fs.FS, m *topology.Machine, bytes int) (map[int]uint64, error) {
	pool := fmt.Sprintf("hugepages/hugepages-%dkB/", bytes>>10)
	read := func(dir, name string, err *error) int {
		n, readErr := sysfs.ReadInt(root, dir+pool+name)
		if *err == nil {
			*err = readErr
		}
		return n
	}
	const whole = "sys/kernel/mm/"
	var err error
	free := read(whole, "free_hugepages", &err) - read(whole, "resv_hugepages", &err)
	more := max(0, read(whole, "nr_overcommit_hugepages", &err)-read(whole, "surplus_hugepages", &err))
	if err != nil {
		return nil, err
	}
	pages := map[int]uint64{-1: uint64(max(0, free) + more)}
	for _, node := range m.Nodes {
		free := read(fmt.Sprintf("sys/devices/system/node/node%d/", node.Node), "free_hugepages", &err)
		if errors.Is(err, fs.ErrNotExist) { // a kernel without nodes
			pages[node.Node], err = pages[-1], nil
			continue
		}
		pages[node.Node] = min(uint64(max(0, free)+more), pages[-1])
	}
	return pages, err
}

// Probe probes the running kernel. by is the way to prefer a node.
func (s *Support) Probe(m *topology.Machine, by string) {
	switch by {
	case ByPrctl:
		s.Prctl = linux.HavePreferredNode()
		if errors.Is(s.Prctl, errors.ErrUnsupported) {
			s.Prctl = errors.New("this kernel has no prctl(101, …) for a preferred node (EINVAL)")
		}
	case ByMempolicy:
		s.Mempolicy = errors.Join(linux.HaveMempolicy(linux.MempolicyPreferredMany), linux.HaveHomeNode())
	}
	_, err := csrc.Probe(csrc.ProbeArgs{Access: indexAccess, Words: 1})
	if errors.Is(err, errors.ErrUnsupported) {
		s.Kernels = err
	}
	if area, err := linux.NewArea(linux.AreaOptions{Bytes: 1, Node: withMemory(m).First()}); err == nil {
		s.BindBalanced = area.SetPolicy(linux.MempolicyBind|linux.MempolicyNUMABalancing, cpuset.Of(withMemory(m).First()))
		if errors.Is(s.BindBalanced, syscall.EINVAL) {
			s.BindBalanced = errors.New("this kernel has no MPOL_F_NUMA_BALANCING for bound memory (EINVAL)")
		}
		s.Bind = area.Free()
	} else if errors.Is(err, fs.ErrPermission) {
		s.Bind = err // a container's filter
	}
	s.Mems, _ = linux.MemsAllowed() // empty for a kernel without nodes, or if a filter forbids the call
	area, err := linux.NewArea(linux.AreaOptions{Bytes: 1, Node: -1, Pages: linux.PagesTHP})
	if err == nil {
		err = area.Free()
	}
	s.THP = err
	file, err := os.OpenFile(linux.NUMABalancingSysctl, os.O_WRONLY, 0) // tests the permission; nothing is written
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = linux.ErrNoNUMABalancing // otherwise Unread has the reason
	case err != nil:
		err = fmt.Errorf("that needs root on the machine itself: %w", err)
	default:
		err = file.Close()
	}
	s.SetBalancing = err
}

// Mark sets the reasons why rows cannot be measured or have no effect. It reports whether any row can be measured.
func (s Support) Mark(rows []result.NumaRow) (some bool) {
	for i := range rows {
		if rows[i].Unsupported = s.lack(rows[i]); rows[i].Unsupported != "" {
			continue
		}
		some = true
		if balancing := rows[i].NUMABalancing; s.Unread == nil || balancing != KeepSetting {
			if balancing == KeepSetting {
				balancing = s.Balancing
			}
			rows[i].NoEffect = noEffect(rows[i], balancing)
		}
	}
	return some
}

// noEffect returns the part of a row that the kernel accepts but ignores while NUMA balancing has this value; "" if
// none.
func noEffect(row result.NumaRow, balancing int) string {
	if row.PreferredNode == None || row.PreferredBy != ByPrctl || balancing > 0 {
		return ""
	}
	return linux.PreferredNodeIgnored
}

// lack returns why a row cannot be measured; "" if it can.
func (s Support) lack(row result.NumaRow) string {
	if s.Kernels != nil {
		return s.Kernels.Error()
	}
	for _, lack := range []func(result.NumaRow) string{s.lackMemory, s.lackPages, s.lackBalancing, s.lackPreferred} {
		if why := lack(row); why != "" {
			return why
		}
	}
	return ""
}

func (s Support) lackMemory(row result.NumaRow) string {
	if row.Mem != Float && s.Bind != nil {
		return words(s.Bind)
	}
	if row.MemPolicy == BindBalancing && s.BindBalanced != nil {
		return words(s.BindBalanced)
	}
	if row.FirstTouch == TouchFar || row.FirstTouch == TouchInterleaved {
		switch {
		case len(s.Memory) < 2:
			return fmt.Sprintf("one node has memory: none is %s", row.FirstTouch)
		case s.Bind != nil:
			return words(s.Bind)
		case row.PreferredBy == ByMempolicy:
			return "the memory policy already determines the node of the memory"
		}
	}
	if row.Mem != Float && !s.Mems.Empty() && !s.Mems.Contains(row.Mem) {
		return fmt.Sprintf("this process may not use memory of node %d, only of %s (Mems_allowed_list)", row.Mem, s.Mems)
	}
	where, has := fmt.Sprintf("node %d has", row.Mem), s.Memory[row.Mem]
	if row.Mem == Float {
		where = "the machine has"
		for _, bytes := range s.Memory {
			if has += bytes; bytes == 0 {
				has = 0
				break
			}
		}
	}
	if has > 0 && row.BufferBytes > has {
		return fmt.Sprintf("%s %d MiB of memory, less than the buffer's %d MiB", where, has>>20, row.BufferBytes>>20)
	}
	return ""
}

func (s Support) lackPages(row result.NumaRow) string {
	kind, err := linux.ParsePageKind(row.Pages)
	if err != nil {
		return err.Error()
	}
	if kind == linux.PagesTHP && s.THP != nil {
		return s.THP.Error()
	}
	if !linux.PageKinds[kind].HugeTLB {
		return ""
	}
	free, has := s.Reserved[row.Pages]
	if !has {
		return fmt.Sprintf("this machine has no reserved pages of %s", row.Pages)
	}
	size := uint64(linux.PageKinds[kind].Align)
	need := (row.BufferBytes + size - 1) / size
	if free[row.Mem] >= need {
		return ""
	}
	where := ""
	if row.Mem != Float {
		where = fmt.Sprintf(" on node %d", row.Mem)
	}
	return fmt.Sprintf("%d reserved pages of %s%s are needed and %d are free (as root: nr_hugepages)",
		need, row.Pages, where, free[row.Mem])
}

func (s Support) lackBalancing(row result.NumaRow) string {
	switch {
	case row.NUMABalancing == KeepSetting:
		return ""
	case s.Unread != nil:
		return fmt.Sprintf("%v (--numa-balancing keep leaves it as it is)", s.Unread)
	case row.NUMABalancing == s.Balancing || s.SetBalancing == nil:
		return ""
	}
	return fmt.Sprintf("NUMA balancing is %d and cannot be set to %d: %s",
		s.Balancing, row.NUMABalancing, words(s.SetBalancing))
}

func (s Support) lackPreferred(row result.NumaRow) string {
	if row.PreferredNode == None {
		return ""
	}
	switch mempolicy := row.PreferredBy == ByMempolicy; {
	case mempolicy && row.Mem != Float:
		return "the memory is bound, so a memory policy cannot prefer another node"
	case mempolicy && s.Mempolicy != nil:
		return words(s.Mempolicy)
	case !mempolicy && s.Prctl != nil:
		return words(s.Prctl)
	}
	return ""
}

// words returns an error's text with its hint.
func words(err error) string {
	if way := hint.Of(err); way != "" {
		return fmt.Sprintf("%v (%s)", err, way)
	}
	return err.Error()
}
