// Package topology describes a machine as the kernel does: its CPUs, and which of them share a core, a last-level
// cache (LLC), a memory node and a package, and which are near a device. Selectors name CPUs by that. It reads /sys through
// an fs.FS, which may be a captured machine.
package topology

import (
	"cmp"
	"slices"

	"gorun/internal/kernel/cpuset"
)

// Unknown is the core, LLC, node, package, die or kind of an offline CPU, for which the kernel records none, and the node
// of an online CPU that is on no node.
const Unknown = -1

// Machine is a machine and the part of it that this process may use. After reading, only SetAffinity and SetCgroup
// change it.
type Machine struct {
	CPUs  []CPU  // present, ascending
	Nodes []Node // online, ascending, including those without memory or without CPUs
	LLCs  []LLC  // ascending

	Isolated cpuset.Set // by isolcpus or an isolated cpuset partition
	NohzFull cpuset.Set // no tick while a single task runs

	// Warnings describe missing or malformed kernel files, and what was assumed instead.
	Warnings []string

	affinity cpuset.Set // empty: no limit known
	cgroup   cpuset.Set // empty: no limit known

	devices *deviceList // nil: the machine was not read from files
}

// CPU is a present CPU and its position. An offline CPU has only a number; the rest is Unknown.
type CPU struct {
	CPU     int    `json:"cpu"`
	Core    int    `json:"core"`    // counted from 0, in the order of each core's lowest CPU
	LLC     int    `json:"llc"`     // counted from 0, in the order of each cache's lowest CPU
	Node    int    `json:"node"`    // the kernel's number
	Package int    `json:"package"` // the kernel's number; 0 if it has none
	Die     int    `json:"die"`     // the kernel's number, unique in the package; 0 if it has none
	Online  bool   `json:"online"`
	Allowed bool   `json:"allowed"` // online, in the affinity mask and in the cgroup's cpuset
	Kind    int    `json:"kind"`    // counted from 0, the fastest; the same for all CPUs of a uniform machine
	Class   string `json:"class"`   // Performance or Efficiency on a hybrid machine, else ""
}

// The classes of a hybrid machine's CPUs.
const (
	Performance = "P"
	Efficiency  = "E"
)

// Node is one online memory node.
type Node struct {
	Node        int        `json:"node"` // the kernel's number
	Kind        string     `json:"kind"` // one of the kinds below
	CPUs        cpuset.Set `json:"cpus"` // online; empty for a node of memory only
	MemoryBytes *uint64    `json:"memory_bytes"`

	// NormalMemory reports whether the kernel may keep its own data there. It is false for a node all of whose memory
	// can be removed: hot-plugged memory, a GPU's, or memory attached by CXL. nil: not recorded, or no memory.
	NormalMemory *bool `json:"normal_memory"`

	Distances []int `json:"distances"` // to each of Machine.Nodes, 10 is local; empty if not recorded
}

// The kinds of nodes. A node without a record of its memory is assumed to have some.
const (
	CPUsAndMemory = "CPUs and memory"
	MemoryOnly    = "memory only"
	CPUsOnly      = "CPUs only"
	Neither       = "neither CPUs nor memory"
)

// HasMemory reports whether a node has memory, or may have because that is not recorded.
func (n Node) HasMemory() bool { return n.Kind == CPUsAndMemory || n.Kind == MemoryOnly }

// MemoryNodes returns the nodes that have memory.
func (m *Machine) MemoryNodes() cpuset.Set { return m.nodesWhere(Node.HasMemory) }

// LLC is a last-level cache: the data cache of the highest level that its CPUs have.
type LLC struct {
	LLC       int        `json:"llc"`
	CPUs      cpuset.Set `json:"cpus"`  // online
	Level     int        `json:"level"` // 0: no cache is recorded, and the die, package or core stands for one
	SizeBytes *uint64    `json:"size_bytes"`
}

// Kinds returns the online CPUs of each kind, the fastest first. A uniform machine has one.
func (m *Machine) Kinds() []cpuset.Set {
	last := 0
	for _, c := range m.CPUs {
		last = max(last, c.Kind)
	}
	kinds := make([]cpuset.Set, last+1)
	for i := range kinds {
		kinds[i] = m.Where(func(c CPU) bool { return c.Online && c.Kind == i })
	}
	return kinds
}

// Counts are the totals of a machine. Cores, packages and LLCs count if they have an online CPU.
type Counts struct {
	CPUs     int `json:"cpus"` // present
	Online   int `json:"online"`
	Cores    int `json:"cores"`
	Packages int `json:"packages"`
	Nodes    int `json:"nodes"` // online, with or without CPUs
	LLCs     int `json:"llcs"`
}

// Document is the JSON form of a machine.
type Document struct {
	Schema   string     `json:"schema"`
	Counts   Counts     `json:"counts"`
	CPUs     []CPU      `json:"cpus"`
	Nodes    []Node     `json:"nodes"`
	LLCs     []LLC      `json:"llcs"`
	Allowed  cpuset.Set `json:"allowed"`
	Isolated cpuset.Set `json:"isolated"`
	NohzFull cpuset.Set `json:"nohz_full"`
	Warnings []string   `json:"warnings"`
}

// Document returns the machine as JSON with this schema; a command may embed it with keys of its own. It shares the
// machine's slices.
func (m *Machine) Document(schema string) Document {
	return Document{
		Schema: schema, Counts: m.Counts(), CPUs: m.CPUs, Nodes: m.Nodes, LLCs: m.LLCs, Allowed: m.Allowed(),
		Isolated: m.Isolated, NohzFull: m.NohzFull, Warnings: append([]string{}, m.Warnings...),
	}
}

// Counts returns the machine's totals.
func (m *Machine) Counts() Counts {
	cores, packages := map[int]bool{}, map[int]bool{}
	counts := Counts{CPUs: len(m.CPUs), Nodes: len(m.Nodes), LLCs: len(m.LLCs)}
	for _, c := range m.CPUs {
		if c.Online {
			counts.Online++
			cores[c.Core] = true
			packages[c.Package] = true
		}
	}
	counts.Cores, counts.Packages = len(cores), len(packages)
	return counts
}

// CPU returns a present CPU by number; false if there is none.
func (m *Machine) CPU(cpu int) (CPU, bool) {
	i, ok := slices.BinarySearchFunc(m.CPUs, cpu, func(c CPU, n int) int { return cmp.Compare(c.CPU, n) })
	if !ok {
		return CPU{}, false
	}
	return m.CPUs[i], true
}

// node returns an online node by number; false if there is none.
func (m *Machine) node(node int) (Node, bool) {
	for _, n := range m.Nodes {
		if n.Node == node {
			return n, true
		}
	}
	return Node{}, false
}

// NodeNumbers returns the numbers of the nodes.
func (m *Machine) NodeNumbers() cpuset.Set { return m.nodesWhere(func(Node) bool { return true }) }

// NodesWith returns the nodes that have some of the CPUs.
func (m *Machine) NodesWith(cpus cpuset.Set) cpuset.Set {
	return m.nodesWhere(func(n Node) bool { return !m.NodeCPUs(n.Node).Intersect(cpus).Empty() })
}

// nodesWhere returns the numbers of the nodes that match.
func (m *Machine) nodesWhere(match func(Node) bool) (nodes cpuset.Set) {
	for _, n := range m.Nodes {
		if match(n) {
			nodes = nodes.With(n.Node)
		}
	}
	return nodes
}

// NodeCPUs returns the online CPUs of a node by number.
func (m *Machine) NodeCPUs(node int) cpuset.Set {
	return m.Where(func(c CPU) bool { return c.Online && c.Node == node })
}

// NodeOf returns the node of a CPU; Unknown if it is not known.
func (m *Machine) NodeOf(cpu int) int {
	if c, ok := m.CPU(cpu); ok {
		return c.Node
	}
	return Unknown
}

// OnNode returns the CPUs that are on this node only: several nodes may list the same CPU (numa=fake).
func (m *Machine) OnNode(node Node) cpuset.Set {
	var cpus []int
	for cpu := range node.CPUs.All() {
		if m.NodeOf(cpu) == node.Node {
			cpus = append(cpus, cpu)
		}
	}
	return cpuset.Of(cpus...)
}

// Where returns the present CPUs for which match returns true.
func (m *Machine) Where(match func(CPU) bool) cpuset.Set {
	var cpus []int
	for _, c := range m.CPUs {
		if match(c) {
			cpus = append(cpus, c.CPU)
		}
	}
	return cpuset.Of(cpus...)
}

// Online returns the online CPUs.
func (m *Machine) Online() cpuset.Set { return m.Where(func(c CPU) bool { return c.Online }) }

// Allowed returns the CPUs that this process may use: online, in the affinity mask and in the cgroup's cpuset.
func (m *Machine) Allowed() cpuset.Set { return m.Where(func(c CPU) bool { return c.Allowed }) }

// Possible returns the CPUs that a process may use if it changes its affinity mask.
func (m *Machine) Possible() cpuset.Set {
	return m.Where(func(c CPU) bool { why := m.whyNot(c); return why == "" || why == outsideMask })
}

// SetAffinity replaces the affinity mask that Read found in proc/self/status. An empty set removes the limit.
func (m *Machine) SetAffinity(mask cpuset.Set) {
	m.affinity = mask
	m.allow()
}

// SetCgroup sets the effective cpuset of the cgroup. An empty set removes the limit.
func (m *Machine) SetCgroup(cpus cpuset.Set) {
	m.cgroup = cpus
	m.allow()
}

func (m *Machine) allow() {
	for i := range m.CPUs {
		m.CPUs[i].Allowed = m.whyNot(m.CPUs[i]) == ""
	}
}

// WhyNot returns the reason why a CPU is not allowed, to follow "CPU 5 is "; "" for an allowed CPU.
func (m *Machine) WhyNot(cpu int) string {
	c, ok := m.CPU(cpu)
	if !ok {
		return "not present"
	}
	return m.whyNot(c)
}

func (m *Machine) whyNot(c CPU) string {
	switch {
	case !c.Online:
		return "offline"
	case !m.cgroup.Empty() && !m.cgroup.Contains(c.CPU): // comes before the mask, which the kernel keeps within the cpuset
		return "outside the cpuset of its cgroup"
	case !m.affinity.Empty() && !m.affinity.Contains(c.CPU):
		return outsideMask
	}
	return ""
}

const outsideMask = "outside the affinity mask"

// OnePerCore returns the lowest CPU in the set of each core that has one, ascending.
func (m *Machine) OnePerCore(within cpuset.Set) []int {
	cpus, seen := []int{}, map[int]bool{}
	for _, c := range m.CPUs {
		if c.Online && within.Contains(c.CPU) && !seen[c.Core] {
			seen[c.Core] = true
			cpus = append(cpus, c.CPU)
		}
	}
	return cpus
}
