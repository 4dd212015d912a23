package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/topology"
)

// Placement is where a command may run and where its memory comes from.
type Placement struct {
	Name      string
	CPUs      cpuset.Set // empty: as inherited
	Mempolicy linux.Mempolicy
	Nodes     cpuset.Set // of the memory policy
	Words     string     // what it is, for a person

	kubernetes string // how to have it there; empty: in no way
}

// Setting is what puts a command there.
func (p Placement) Setting() Setting {
	return Setting{CPUs: p.CPUs, Mempolicy: p.Mempolicy, Nodes: p.Nodes}
}

// ground is what placements are made from.
type ground struct {
	m      *topology.Machine
	cpus   cpuset.Set // of the run
	memory []topology.Node
	home   topology.Node // the node with the most of the CPUs
}

// kinds is the table of placements that can matter, in order: of two that are alike on a machine, the first one stays.
// CPUs return none where a machine has no such thing. Memory comes from where its first toucher runs unless said
// otherwise, so on CPUs of one node from there: a strict binding to it would differ only in killing what does not fit.
var kinds = []struct {
	name  string
	cpus  func(g ground) cpuset.Set
	mem   func(g ground) (linux.Mempolicy, cpuset.Set) // nil: as it comes
	words string

	kubernetes string // what a pod needs beside exclusive CPUs; "-": it has no exclusive ones
}{
	{"unbound", all, nil, "all CPUs of the run", "-"},
	{"one-cpu", func(g ground) cpuset.Set { return cpuset.Of(g.cpus.First()) }, nil, "one CPU", ""},
	{"smt-siblings", siblings, nil, "the threads of one core", "the option full-pcpus-only"},
	{
		"one-per-core", func(g ground) cpuset.Set { return cpuset.Of(g.m.OnePerCore(g.cpus)...) }, nil,
		"one thread of each core", "the option distribute-cpus-across-cores",
	},
	{"one-llc", llc, nil, "CPUs with a common last-level cache", "the option prefer-align-cpus-by-uncorecache"},
	{
		"one-node", home, nil, "CPUs of one node, its memory first",
		"topologyManagerPolicy: single-numa-node and memoryManagerPolicy: Static",
	},
	{"spread-nodes", spread, nil, "one CPU of each node", "the option distribute-cpus-across-numa"},
	{"pcores", class(topology.Performance), nil, "performance cores", ""},
	{"ecores", class(topology.Efficiency), nil, "efficiency cores", ""},
	{"interleaved", all, interleaved, "all CPUs of the run, pages of all nodes in turns", "-"},
	{"node-interleaved", home, interleaved, "CPUs of one node, pages of all nodes in turns", "-"},
	{"node-remote", home, remote, "CPUs of one node, memory of the farthest", "-"},
}

// Placements returns the placements on a machine that can matter to a command: within these CPUs and with memory of
// these nodes (empty: all), without those that are like an earlier one. There are at most as many as kinds, 12.
func Placements(m *topology.Machine, cpus, mems cpuset.Set) []Placement {
	g := ground{m: m, cpus: cpus.Intersect(m.Online())}
	if g.cpus.Empty() {
		return nil
	}
	for _, n := range m.Nodes {
		if (n.MemoryBytes == nil || *n.MemoryBytes > 0) && (mems.Empty() || mems.Contains(n.Node)) {
			g.memory = append(g.memory, n)
		}
	}
	for _, n := range m.Nodes {
		if g.on(n.CPUs).Len() > g.on(g.home.CPUs).Len() {
			g.home = n
		}
	}
	var placements []Placement
	seen := map[string]bool{}
	for _, k := range kinds {
		p := Placement{Name: k.name, CPUs: k.cpus(g), Words: k.words}
		if k.mem != nil {
			p.Mempolicy, p.Nodes = k.mem(g)
			if p.Nodes.Empty() {
				continue
			}
		}
		alike := fmt.Sprint(g.shape(p.CPUs), p.Mempolicy, p.Nodes)
		if p.CPUs.Empty() || seen[alike] {
			continue
		}
		seen[alike] = true
		p.kubernetes = kubernetes(p.CPUs.Len(), k.kubernetes)
		if p.CPUs.Equal(m.Allowed()) {
			p.CPUs = cpuset.Set{} // it is what a command inherits
		}
		placements = append(placements, p)
	}
	return placements
}

// on returns those of some CPUs that are the run's.
func (g ground) on(cpus cpuset.Set) cpuset.Set { return cpus.Intersect(g.cpus) }

// shape writes how CPUs stand to each other, and of which class they are: node by node, cache by cache, how many
// threads of each core. Sets of one shape differ by symmetry only: "[(2 2) (2 2)]" is a node with two caches, each of
// two cores with both threads.
func (g ground) shape(cpus cpuset.Set) string {
	type place struct{ node, llc, core int }
	threads, classes := map[place]int{}, map[place]string{}
	for cpu := range cpus.All() {
		c, _ := g.m.CPU(cpu)
		at := place{c.Node, c.LLC, c.Core}
		threads[at]++
		classes[at] = c.Class
	}
	caches := map[place][]string{}
	for at, n := range threads {
		cache := place{at.node, at.llc, 0}
		caches[cache] = append(caches[cache], fmt.Sprintf("%d%s", n, classes[at]))
	}
	nodes := map[int][]string{}
	for at, cores := range caches {
		nodes[at.node] = append(nodes[at.node], "("+joined(cores)+")")
	}
	var shapes []string
	for _, caches := range nodes {
		shapes = append(shapes, "["+joined(caches)+"]")
	}
	return joined(shapes)
}

func joined(words []string) string {
	slices.Sort(words)
	return strings.Join(words, " ")
}

func all(g ground) cpuset.Set { return g.cpus }

func home(g ground) cpuset.Set { return g.on(g.home.CPUs) }

// siblings returns the threads of the first of the cores that have most.
func siblings(g ground) cpuset.Set {
	byCore := map[int]cpuset.Set{}
	var most cpuset.Set
	for cpu := range g.cpus.All() {
		c, _ := g.m.CPU(cpu)
		byCore[c.Core] = byCore[c.Core].With(cpu)
	}
	for _, first := range g.m.OnePerCore(g.cpus) {
		c, _ := g.m.CPU(first)
		if threads := byCore[c.Core]; threads.Len() > most.Len() {
			most = threads
		}
	}
	if most.Len() < 2 {
		return cpuset.Set{}
	}
	return most
}

// llc returns the CPUs of the first of the caches that most share.
func llc(g ground) cpuset.Set {
	var most cpuset.Set
	for _, l := range g.m.LLCs {
		if cpus := g.on(l.CPUs); cpus.Len() > most.Len() {
			most = cpus
		}
	}
	return most
}

func spread(g ground) cpuset.Set {
	var cpus []int
	for _, n := range g.m.Nodes {
		if first := g.on(n.CPUs).First(); first >= 0 {
			cpus = append(cpus, first)
		}
	}
	if len(cpus) < 2 {
		return cpuset.Set{}
	}
	return cpuset.Of(cpus...)
}

func class(name string) func(g ground) cpuset.Set {
	return func(g ground) cpuset.Set {
		return g.on(g.m.Where(func(c topology.CPU) bool { return c.Class == name }))
	}
}

func interleaved(g ground) (linux.Mempolicy, cpuset.Set) {
	if len(g.memory) < 2 {
		return 0, cpuset.Set{}
	}
	var nodes []int
	for _, n := range g.memory {
		nodes = append(nodes, n.Node)
	}
	return linux.MempolicyInterleave, cpuset.Of(nodes...)
}

// remote returns the node with memory that is farthest from home, where distances are not recorded the last one.
func remote(g ground) (linux.Mempolicy, cpuset.Set) {
	if len(g.memory) < 2 {
		return 0, cpuset.Set{}
	}
	others := slices.DeleteFunc(slices.Clone(g.memory), func(n topology.Node) bool { return n.Node == g.home.Node })
	distance := func(n topology.Node) int {
		at := slices.IndexFunc(g.m.Nodes, func(o topology.Node) bool { return o.Node == n.Node })
		if at >= len(g.home.Distances) {
			return 0
		}
		return g.home.Distances[at]
	}
	slices.SortStableFunc(others, func(a, b topology.Node) int { return cmp.Compare(distance(a), distance(b)) })
	return linux.MempolicyBind, cpuset.Of(others[len(others)-1].Node)
}

// Lines are how to have a placement without gorun.
type Lines struct {
	Taskset    []string // before the command; nil: taskset(1) has no such thing
	Numactl    []string // before the command; nil: nothing is to be set
	Systemd    []string // of a unit's [Service]; nil: nothing is to be set (systemd.exec(5))
	Kubernetes string   // a hint; "": a pod cannot have it by itself
}

// numa are the names that numactl(8) and systemd.exec(5) have for memory policies.
var numa = map[linux.Mempolicy]struct{ numactl, systemd string }{
	linux.MempolicyPreferred:  {"--preferred", "preferred"},
	linux.MempolicyBind:       {"--membind", "bind"},
	linux.MempolicyInterleave: {"--interleave", "interleave"},
}

// Lines returns the lines to use.
func (p Placement) Lines() Lines {
	l := Lines{Kubernetes: p.kubernetes}
	cpus, nodes := p.CPUs.String(), p.Nodes.String()
	if cpus != "" {
		l.Numactl = append(l.Numactl, "--physcpubind="+cpus)
		l.Systemd = append(l.Systemd, "CPUAffinity="+cpus)
		if nodes == "" {
			l.Taskset = []string{"taskset", "-c", cpus}
		}
	}
	if nodes != "" {
		names := numa[p.Mempolicy]
		l.Numactl = append(l.Numactl, names.numactl+"="+nodes)
		l.Systemd = append(l.Systemd, "NUMAPolicy="+names.systemd, "NUMAMask="+nodes)
	}
	if l.Numactl != nil {
		l.Numactl = append([]string{"numactl"}, l.Numactl...)
	}
	return l
}

// kubernetes says how a pod has so many exclusive CPUs (kubernetes.io, "Control CPU Management Policies on the Node").
func kubernetes(cpus int, needs string) string {
	if needs == "-" {
		return ""
	}
	hint := fmt.Sprintf(
		"cpu: %d in requests and limits alike (a Guaranteed pod), the kubelet's cpuManagerPolicy: static", cpus)
	if needs != "" {
		hint += " with " + needs
	}
	return hint
}
