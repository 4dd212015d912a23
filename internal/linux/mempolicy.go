package linux

import (
	"fmt"
	"slices"
	"strings"

	"gorun/internal/cpuset"
)

// Mempolicy is a memory policy by the kernel's number (include/uapi/linux/mempolicy.h, set_mempolicy(2)).
type Mempolicy int

// The policies: they determine the nodes of the pages that a thread touches first.
const (
	MempolicyDefault       Mempolicy = 0 // the node of the touching CPU, or the next one with memory left
	MempolicyPreferred     Mempolicy = 1 // one node while it has memory left
	MempolicyBind          Mempolicy = 2 // these nodes only
	MempolicyInterleave    Mempolicy = 3 // these nodes in turns
	MempolicyLocal         Mempolicy = 4 // as default, even if the process has another policy
	MempolicyPreferredMany Mempolicy = 5 // these nodes while they have memory left (Linux 5.15)
)

// MempolicyNUMABalancing is the flag of bind that makes NUMA balancing scan the memory. Without it, bound memory is
// skipped, and accesses to it do not count for a thread's preferred node (MPOL_F_NUMA_BALANCING, Linux 5.12).
const MempolicyNUMABalancing Mempolicy = 1 << 13

// mempolicyFlags are the mode flags that a policy set by another program may have (MPOL_MODE_FLAGS). They are kept, so
// that the policy can be restored exactly.
const mempolicyFlags Mempolicy = 0xe000

// mempolicyRow is the name of a policy and the number of nodes that it takes.
type mempolicyRow struct {
	name        string
	least, most int // nodes
}

// mempolicies lists the policies by number.
var mempolicies = [...]mempolicyRow{
	MempolicyDefault:       {"default", 0, 0},
	MempolicyPreferred:     {"preferred", 1, 1},
	MempolicyBind:          {"bind", 1, maxNodes},
	MempolicyInterleave:    {"interleave", 1, maxNodes},
	MempolicyLocal:         {"local", 0, 0},
	MempolicyPreferredMany: {"preferred-many", 1, maxNodes},
}

// maxNodes is the number of nodes that a set can hold, more than any kernel can be built for (NODES_SHIFT is at most
// 10).
const maxNodes = cpuset.Max + 1

// String returns the policy's name, with its mode flags if it has any.
func (m Mempolicy) String() string {
	mode, flags := m&^mempolicyFlags, m&mempolicyFlags
	name := fmt.Sprintf("mempolicy %d", int(mode))
	if mode >= 0 && int(mode) < len(mempolicies) {
		name = mempolicies[mode].name
	}
	if flags != 0 {
		return fmt.Sprintf("%s, flags %#x", name, int(flags))
	}
	return name
}

// MempolicyUsages returns the ways to write a policy, for help: a list of nodes follows a colon.
func MempolicyUsages() []string {
	usages := make([]string, len(mempolicies))
	for i, p := range mempolicies {
		usages[i] = p.name
		switch p.most {
		case 0:
		case 1:
			usages[i] += ":NODE"
		default:
			usages[i] += ":NODES"
		}
	}
	return usages
}

// FormatMempolicy returns a policy in the form that ParseMempolicy accepts.
func FormatMempolicy(mode Mempolicy, nodes cpuset.Set) string {
	if nodes.Empty() {
		return mode.String()
	}
	return mode.String() + ":" + nodes.String()
}

// ParseMempolicy parses "local", "preferred:0", "bind:0-1" or "interleave:0,2".
func ParseMempolicy(text string) (Mempolicy, cpuset.Set, error) {
	name, list, _ := strings.Cut(text, ":")
	mode := Mempolicy(slices.IndexFunc(mempolicies[:], func(p mempolicyRow) bool { return p.name == name }))
	if mode < 0 {
		return 0, cpuset.Set{}, fmt.Errorf("%q is not a memory policy (one of %s)", name, strings.Join(MempolicyUsages(), ", "))
	}
	nodes, err := cpuset.Parse(list)
	if err != nil {
		return 0, cpuset.Set{}, err
	}
	return mode, nodes, mode.check(nodes)
}

// check returns an error unless the policy takes these nodes. The kernel would return a bare EINVAL, or use only the
// first of them.
func (m Mempolicy) check(nodes cpuset.Set) error {
	mode := m &^ mempolicyFlags
	if mode < 0 || int(mode) >= len(mempolicies) {
		return fmt.Errorf("no memory policy %d", int(mode))
	}
	p := mempolicies[mode]
	if n := nodes.Len(); n < p.least || n > p.most {
		return fmt.Errorf("the memory policy %s takes %d to %d nodes, not %d", p.name, p.least, p.most, n)
	}
	return nil
}
