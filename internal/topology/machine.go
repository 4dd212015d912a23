// Package topology describes a machine as the kernel does: its CPUs, and which of them share a core, a last-level cache
// (LLC), a memory node and a package. It reads /sys through an fs.FS, so a captured machine is as good as this one.
package topology

import (
	"cmp"
	"slices"

	"gorun/internal/cpuset"
)

// Unknown is the number of a core, LLC, node, package or die that an offline CPU has, for which the kernel has none; and
// the node of an online CPU that no node holds.
const Unknown = -1

// Machine is a machine and the share of it that this process was given. It is read once and not changed, but for
// SetAffinity and SetCgroup.
type Machine struct {
	CPUs  []CPU  // present, ascending
	Nodes []Node // online, ascending; those without memory or without CPUs are among them
	LLCs  []LLC  // ascending

	Isolated cpuset.Set // by isolcpus or an isolated cpuset partition
	NohzFull cpuset.Set // without a tick while one task runs

	// Warnings say in words what was missing or odd in the kernel's files, and what was taken for true instead.
	Warnings []string

	affinity cpuset.Set // empty: no limit known
	cgroup   cpuset.Set // empty: no limit known

	devices *deviceList // nil: the machine was not read from files
}

// CPU is one present CPU and its place. An offline CPU has only its number; the rest is Unknown.
type CPU struct {
	CPU     int    `json:"cpu"`
	Core    int    `json:"core"`    // counted from 0 over the machine, in the order of each core's lowest CPU
	LLC     int    `json:"llc"`     // counted from 0 over the machine, in the order of each cache's lowest CPU
	Node    int    `json:"node"`    // the kernel's number
	Package int    `json:"package"` // the kernel's number; 0 where the kernel has none
	Die     int    `json:"die"`     // the kernel's number, unique in the package; 0 where the kernel has none
	Online  bool   `json:"online"`
	Allowed bool   `json:"allowed"` // online, in the affinity mask and in the cgroup's cpuset
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
	CPUs        cpuset.Set `json:"cpus"` // online; empty for memory alone
	MemoryBytes *uint64    `json:"memory_bytes"`

	// NormalMemory reports whether the kernel may keep its own data there. It is false for a node whose memory can all be
	// taken away again: hot-plugged memory, a GPU's, or memory behind CXL. nil: not recorded, or there is no memory.
	NormalMemory *bool `json:"normal_memory"`

	Distances []int `json:"distances"` // to each of Machine.Nodes, 10 is local; empty where not recorded
}

// The kinds of nodes. A node whose memory is not recorded is taken to have some.
const (
	CPUsAndMemory = "CPUs and memory"
	MemoryOnly    = "memory only"
	CPUsOnly      = "CPUs only"
	Neither       = "neither CPUs nor memory"
)

// HasMemory reports whether a node has memory, or may have: it is not recorded.
func (n Node) HasMemory() bool { return n.Kind == CPUsAndMemory || n.Kind == MemoryOnly }

// LLC is one last-level cache: the highest level of data cache that its CPUs have.
type LLC struct {
	LLC       int        `json:"llc"`
	CPUs      cpuset.Set `json:"cpus"`  // online
	Level     int        `json:"level"` // 0: no cache is recorded, and the die, package or core is taken for one
	SizeBytes *uint64    `json:"size_bytes"`
}

// Counts are the totals of a machine. Cores, packages and LLCs are those with an online CPU.
type Counts struct {
	CPUs     int `json:"cpus"` // present
	Online   int `json:"online"`
	Cores    int `json:"cores"`
	Packages int `json:"packages"`
	Nodes    int `json:"nodes"` // online, with or without CPUs
	LLCs     int `json:"llcs"`
}

// Document is a machine as JSON shows it.
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

// Document returns the machine for JSON of that schema; a command may embed it beside keys of its own. It shares the machine's slices.
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

// CPU returns a present CPU by its number; false when there is none.
func (m *Machine) CPU(cpu int) (CPU, bool) {
	i, ok := slices.BinarySearchFunc(m.CPUs, cpu, func(c CPU, n int) int { return cmp.Compare(c.CPU, n) })
	if !ok {
		return CPU{}, false
	}
	return m.CPUs[i], true
}

// node returns an online node by its number; false when there is none.
func (m *Machine) node(node int) (Node, bool) {
	for _, n := range m.Nodes {
		if n.Node == node {
			return n, true
		}
	}
	return Node{}, false
}

// nodeCPUs returns the online CPUs of a node by its number.
func (m *Machine) nodeCPUs(node int) cpuset.Set {
	return m.Where(func(c CPU) bool { return c.Online && c.Node == node })
}

// NodeOf returns the node of a CPU, Unknown where it is not known.
func (m *Machine) NodeOf(cpu int) int {
	if c, ok := m.CPU(cpu); ok {
		return c.Node
	}
	return Unknown
}

// OnNode returns the CPUs of a node that are on no other one: nodes may list the same (numa=fake).
func (m *Machine) OnNode(node Node) cpuset.Set {
	var cpus []int
	for cpu := range node.CPUs.All() {
		if m.NodeOf(cpu) == node.Node {
			cpus = append(cpus, cpu)
		}
	}
	return cpuset.Of(cpus...)
}

// Where returns the present CPUs for which match holds.
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

// Allowed returns the CPUs that are ours: online, in the affinity mask and in the cgroup's cpuset.
func (m *Machine) Allowed() cpuset.Set { return m.Where(func(c CPU) bool { return c.Allowed }) }

// SetAffinity replaces the affinity mask that Read found in proc/self/status. An empty set takes the limit away.
func (m *Machine) SetAffinity(mask cpuset.Set) {
	m.affinity = mask
	m.allow()
}

// SetCgroup sets the effective cpuset of the cgroup. An empty set takes the limit away.
func (m *Machine) SetCgroup(cpus cpuset.Set) {
	m.cgroup = cpus
	m.allow()
}

func (m *Machine) allow() {
	for i := range m.CPUs {
		m.CPUs[i].Allowed = m.whyNot(m.CPUs[i]) == ""
	}
}

// WhyNot says in a few words why a CPU is not ours, so that "CPU 5 is " can stand before it; "" for one of ours.
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
	case !m.cgroup.Empty() && !m.cgroup.Contains(c.CPU): // before the mask, which the kernel keeps within the cpuset
		return "outside the cpuset of its cgroup"
	case !m.affinity.Empty() && !m.affinity.Contains(c.CPU):
		return "outside the affinity mask"
	}
	return ""
}

// OnePerCore returns the lowest CPU of each core that has one in the set, ascending.
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
