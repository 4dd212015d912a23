package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/sysfs"
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

// SetMempolicy sets the memory policy of the calling thread (set_mempolicy(2)), for the pages that it touches from now
// on outside areas with their own policy. The policies default and local take no node, preferred takes one. The kernel
// silently drops nodes that the process may not use: read the result back with GetMempolicy.
func SetMempolicy(mode Mempolicy, nodes cpuset.Set) error {
	if err := mode.check(nodes); err != nil {
		return err
	}
	mask, maxnode := nodeMask(nodes)
	_, _, errno := unix.Syscall(unix.SYS_SET_MEMPOLICY, uintptr(mode), uintptr(mask), maxnode)
	return mempolicyError(policyOp("set the thread's memory policy", mode, nodes), errno, nodes)
}

// GetMempolicy returns the memory policy of the calling thread, with its mode flags (get_mempolicy(2)).
func GetMempolicy() (Mempolicy, cpuset.Set, error) {
	return getMempolicy("read the thread's memory policy", nil, 0)
}

// MemsAllowed returns the nodes that the calling thread may use memory of (get_mempolicy(2), MPOL_F_MEMS_ALLOWED).
func MemsAllowed() (cpuset.Set, error) {
	_, nodes, err := getMempolicy("read the allowed nodes", nil, unix.MPOL_F_MEMS_ALLOWED)
	return nodes, err
}

// HaveMempolicy tests whether the kernel has a policy, by trying it on a separate page. It returns nil,
// errors.ErrUnsupported, or another error if that is unknown.
func HaveMempolicy(mode Mempolicy) error {
	nodes, err := MemsAllowed()
	if err != nil {
		return err
	}
	page, err := NewArea(AreaOptions{Bytes: 1, Node: -1})
	if err != nil {
		return err
	}
	for mode.check(nodes) != nil && !nodes.Empty() {
		nodes = nodes.Minus(cpuset.Of(nodes.Last())) // down to the number that it takes
	}
	err = page.SetPolicy(mode, nodes)
	if errors.Is(err, unix.EINVAL) {
		err = fmt.Errorf("this kernel has no memory policy %v: %w", mode, errors.ErrUnsupported)
	}
	return errors.Join(err, page.Free())
}

// SetPolicy sets the policy of the area's pages that are not yet present (mbind(2)).
func (a *Area) SetPolicy(mode Mempolicy, nodes cpuset.Set) error {
	if err := mode.check(nodes); err != nil {
		return err
	}
	mask, maxnode := nodeMask(nodes)
	_, _, errno := unix.Syscall6(unix.SYS_MBIND, uintptr(unsafe.Pointer(&a.pages[0])), uintptr(len(a.pages)),
		uintptr(mode), uintptr(mask), maxnode, 0)
	return mempolicyError(policyOp("set the policy of memory", mode, nodes), errno, nodes)
}

// Policy returns the policy of the area's pages: default if none was set (get_mempolicy(2), MPOL_F_ADDR).
func (a *Area) Policy() (Mempolicy, cpuset.Set, error) {
	return getMempolicy("read the policy of memory", a.Pointer(), unix.MPOL_F_ADDR)
}

// SetHomeNode sets the node from which the area's pages are allocated first, or the nearest one to it among the
// policy's nodes (set_mempolicy_home_node(2), Linux 5.17). The area's policy must be bind or preferred-many. There is
// no read-back.
func (a *Area) SetHomeNode(node int) error {
	op := fmt.Sprintf("set the home node of memory to %d", node)
	_, _, errno := unix.Syscall6(unix.SYS_SET_MEMPOLICY_HOME_NODE, uintptr(unsafe.Pointer(&a.pages[0])),
		uintptr(len(a.pages)), uintptr(node), 0, 0, 0)
	switch errno {
	case unix.ENOENT, unix.EOPNOTSUPP: // no policy, another policy (mm/mempolicy.c)
		return &Error{Op: op, Err: errors.New("the policy of this memory is neither bind nor preferred-many")}
	case unix.ENOSYS:
		return &Error{Op: op, Err: fmt.Errorf("%w: that needs Linux 5.17", errno)}
	case unix.EINVAL:
		return &Error{Op: op, Err: fmt.Errorf("%w: no such node is online", errno)}
	}
	return mempolicyError(op, errno, cpuset.Set{})
}

// HaveHomeNode tests whether the kernel supports SetHomeNode. It returns nil, errors.ErrUnsupported, or another error
// if that is unknown.
func HaveHomeNode() error {
	nodes, err := MemsAllowed()
	if err != nil {
		return err
	}
	page, err := NewArea(AreaOptions{Bytes: 1, Node: nodes.First()})
	if err != nil {
		return err
	}
	return errors.Join(page.SetHomeNode(nodes.First()), page.Free())
}

// mostMaskWords is the size of the largest mask of nodes that the kernel fills, in words of 64 bits: a page of the smallest
// size (mm/mempolicy.c, copy_nodes_to_user). The kernel refuses a mask that is smaller than its own.
const mostMaskWords = 4096 / 8

// getMempolicy calls get_mempolicy(2) for the calling thread or for an address, depending on flags.
func getMempolicy(op string, address unsafe.Pointer, flags uintptr) (Mempolicy, cpuset.Set, error) {
	var mode int32
	var mask []uint64
	errno := unix.EINVAL
	for words := commonWords; errno == unix.EINVAL && words <= mostMaskWords; words *= 2 {
		mask = make([]uint64, words)
		_, _, errno = unix.Syscall6(unix.SYS_GET_MEMPOLICY, uintptr(unsafe.Pointer(&mode)),
			uintptr(unsafe.Pointer(&mask[0])), uintptr(words*64+1), uintptr(address), flags, 0)
	}
	if err := mempolicyError(op, errno, cpuset.Set{}); err != nil {
		return 0, cpuset.Set{}, err
	}
	policy, nodes := Mempolicy(mode), cpuset.FromWords(mask)
	if policy&^mempolicyFlags == MempolicyPreferred && nodes.Empty() {
		policy += MempolicyLocal - MempolicyPreferred // the form of local before Linux 5.14
	}
	return policy, nodes, nil
}

// nodeMask returns nodes in the kernel's form, nil for none, and maxnode: the number of bits plus one, since the kernel
// subtracts one (mm/mempolicy.c, get_nodes).
func nodeMask(nodes cpuset.Set) (mask unsafe.Pointer, maxnode uintptr) {
	if nodes.Empty() {
		return nil, 0
	}
	words := nodes.Words(0)
	return unsafe.Pointer(&words[0]), uintptr(len(words)*64 + 1)
}

func policyOp(op string, mode Mempolicy, nodes cpuset.Set) string {
	if nodes.Empty() {
		return fmt.Sprintf("%s to %v", op, mode)
	}
	return fmt.Sprintf("%s to %v of node %v", op, mode, nodes)
}

// mempolicyError returns the error of a call about memory on nodes; nil for errno 0.
func mempolicyError(op string, errno syscall.Errno, nodes cpuset.Set) error {
	switch {
	case errno == 0:
		return nil
	case errno == unix.EINVAL && !nodes.Empty():
		allowed, err := sysfs.ReadField(os.DirFS("/"), "proc/self/status", "Mems_allowed_list")
		if err != nil {
			allowed = "unknown"
		}
		return &Error{
			Op:  op,
			Err: fmt.Errorf("%w: this process may use no memory on these nodes", errno),
			Remedy: fmt.Sprintf("its nodes are %s (Mems_allowed_list in /proc/self/status), less those without memory",
				allowed),
		}
	case errors.Is(errno, fs.ErrPermission):
		return &Error{
			Op: op, Err: errno,
			Remedy: "a container's seccomp profile forbids it without CAP_SYS_NICE (in Docker: --cap-add SYS_NICE)",
		}
	case errno == unix.ENOSYS:
		return &Error{Op: op, Err: fmt.Errorf("%w: this kernel was built without NUMA", errno)}
	}
	return &Error{Op: op, Err: errno}
}
