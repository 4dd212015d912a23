package numa

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"syscall"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// Support describes which rows a machine can measure. Its zero value supports everything.
type Support struct {
	// From the machine's files.

	Balancing int            // current NUMA balancing; 0 also if the kernel has none
	Unread    error          // why Balancing is unknown; nil: it is known
	Memory    map[int]uint64 // bytes of each node with memory; 0: unknown

	// From the running kernel; nil: supported, or not tried.
	SetBalancing error // why NUMA balancing cannot be changed
	Prctl        error
	Mempolicy    error
	BindBalanced error                         // binding memory so that NUMA balancing scans it
	Map          func(linux.AreaOptions) error // maps memory, and unmaps it
}

// ReadSupport reads the files of a machine, which may be a captured one. root is rooted at /.
func ReadSupport(root fs.FS, m *topology.Machine) (s Support) {
	s.Memory = map[int]uint64{}
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
	return s
}

// Try tries what the running kernel supports. by is the way to prefer a node.
func (s *Support) Try(m *topology.Machine, by string) {
	switch by {
	case ByPrctl:
		s.Prctl = linux.HavePreferredNode()
		if errors.Is(s.Prctl, errors.ErrUnsupported) {
			s.Prctl = errors.New("this kernel has no prctl(101, …) for a preferred node (EINVAL)")
		}
	case ByMempolicy:
		s.Mempolicy = errors.Join(linux.HaveMempolicy(linux.MempolicyPreferredMany), linux.HaveHomeNode())
	}
	if area, err := linux.NewArea(linux.AreaOptions{Bytes: 1, Node: m.MemoryNodes().First()}); err == nil {
		s.BindBalanced = area.SetPolicy(linux.MempolicyBind|linux.MempolicyNUMABalancing, cpuset.Of(m.MemoryNodes().First()))
		if errors.Is(s.BindBalanced, syscall.EINVAL) {
			s.BindBalanced = errors.New("this kernel has no MPOL_F_NUMA_BALANCING for bound memory (EINVAL)")
		}
		_ = area.Free() // it was only tried
	}
	s.Map = func(o linux.AreaOptions) error {
		area, err := linux.NewArea(o)
		if err == nil {
			err = area.Free()
		}
		return err
	}
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

// Mark sets the reasons why rows cannot be measured or have no effect.
func (s Support) Mark(rows []result.NumaRow) {
	for i := range rows {
		rows[i].Unsupported = cmp.Or(s.lackMemory(rows[i]), s.lackBalancing(rows[i]), s.lackPreferred(rows[i]))
		if rows[i].Unsupported != "" {
			continue
		}
		if balancing := rows[i].NUMABalancing; s.Unread == nil || balancing != KeepSetting {
			if balancing == KeepSetting {
				balancing = s.Balancing
			}
			rows[i].NoEffect = noEffect(rows[i], balancing)
		}
	}
}

// noEffect returns the part of a row that the kernel accepts but ignores while NUMA balancing has this value; "" if
// none.
func noEffect(row result.NumaRow, balancing int) string {
	if row.PreferredNode == None || row.PreferredBy != ByPrctl || balancing > 0 {
		return ""
	}
	return linux.PreferredNodeIgnored
}

func (s Support) lackMemory(row result.NumaRow) string {
	kind, _ := linux.ParsePageKind(row.Pages)
	options := linux.AreaOptions{Bytes: int(row.BufferBytes), Node: row.Mem, Pages: kind}
	if row.FirstTouch == TouchFar || row.FirstTouch == TouchInterleaved {
		switch {
		case len(s.Memory) < 2:
			return fmt.Sprintf("one node has memory: none is %s", row.FirstTouch)
		case row.PreferredBy == ByMempolicy:
			return "the memory policy already determines the node of the memory"
		}
		options.Node = slices.Min(slices.Collect(maps.Keys(s.Memory))) // a policy is set for the first touch
	}
	if row.MemPolicy == BindBalancing && s.BindBalanced != nil {
		return words(s.BindBalanced)
	}
	if has := s.Memory[row.Mem]; has > 0 && row.BufferBytes > has { // the kernel would end the probe
		return fmt.Sprintf("node %d has %d MiB of memory, less than the buffer's %d MiB", row.Mem, has>>20, row.BufferBytes>>20)
	}
	if s.Map != nil {
		if err := s.Map(options); err != nil {
			return words(err)
		}
	}
	return ""
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
