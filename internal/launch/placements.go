package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/catalog"
	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/placement"
	"gorun/internal/topology"
)

// Placement is where a command may run and where its memory comes from.
type Placement struct {
	Name      string
	CPUs      cpuset.Set // empty: as inherited
	Mempolicy linux.Mempolicy
	Nodes     cpuset.Set // of the memory policy
	Words     string     // what it is, for a person

	Kubernetes string // how a pod has it; "": not by itself

	shape string // placements of one shape are alike
}

// Setting is what puts a command there.
func (p Placement) Setting() Setting {
	return Setting{Setting: placement.Setting{CPUs: p.CPUs, Mempolicy: p.Mempolicy, Nodes: p.Nodes}}
}

// PlacementNames are all names that a placement can have.
func PlacementNames() []string {
	return catalog.Names(kinds[:])
}

// PlacementUsages say what each of them is, "one-llc\tCPUs with a common last-level cache".
func PlacementUsages() []string {
	return catalog.Words(kinds[:])
}

// LookupPlacement finds a placement by its name, also one that is like an earlier one.
func LookupPlacement(m *topology.Machine, cpus, mems cpuset.Set, name string) (Placement, error) {
	g := newGround(m, cpus, mems)
	for _, k := range kinds {
		if k.name != name {
			continue
		}
		if p, found := g.place(k); found {
			return p, nil
		}
		var has []string
		for _, p := range Placements(m, cpus, mems) {
			has = append(has, p.Name)
		}
		return Placement{}, hint.With(fmt.Errorf("there is no %s here (%s)", name, k.words), "there are "+strings.Join(has, ", "))
	}
	return Placement{}, hint.With(fmt.Errorf("no placement %q", name), "there are "+strings.Join(PlacementNames(), ", "))
}

// ground is what placements are made from.
type ground struct {
	m      *topology.Machine
	cpus   cpuset.Set // of the run
	memory []topology.Node
	home   topology.Node // the node with the most of the CPUs
}

// kind is a placement without a machine.
type kind struct {
	name  string
	cpus  func(g ground) cpuset.Set
	mem   func(g ground) (linux.Mempolicy, cpuset.Set) // nil: as it comes
	words string

	kubernetes string // what a pod needs beside exclusive CPUs; "-": it has no exclusive ones
}

// Entry implements catalog.Entry.
func (k kind) Entry() (name, usage string) { return k.name, k.words }

// kinds is the table of placements that can matter, in order: of two that are alike on a machine, the first one stays.
// CPUs return none where a machine has no such thing. Memory comes from where its first toucher runs unless said
// otherwise, so on CPUs of one node from there: a strict binding to it would differ only in killing what does not fit.
var kinds = [...]kind{
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
	g := newGround(m, cpus, mems)
	var placements []Placement
	seen := map[string]bool{}
	for _, k := range kinds {
		p, found := g.place(k)
		if found && !seen[p.shape] {
			seen[p.shape] = true
			placements = append(placements, p)
		}
	}
	return placements
}

func newGround(m *topology.Machine, cpus, mems cpuset.Set) ground {
	g := ground{m: m, cpus: cpus.Intersect(m.Online())}
	for _, n := range m.Nodes {
		if n.HasMemory() && (mems.Empty() || mems.Contains(n.Node)) {
			g.memory = append(g.memory, n)
		}
	}
	for _, n := range m.Nodes {
		if g.on(m.OnNode(n)).Len() > g.on(m.OnNode(g.home)).Len() {
			g.home = n
		}
	}
	return g
}

// place makes a placement of a kind; false where the machine has no such thing.
func (g ground) place(k kind) (Placement, bool) {
	if g.cpus.Empty() {
		return Placement{}, false
	}
	p := Placement{Name: k.name, CPUs: k.cpus(g), Words: k.words}
	if k.mem != nil {
		if p.Mempolicy, p.Nodes = k.mem(g); p.Nodes.Empty() {
			return Placement{}, false
		}
	}
	if p.CPUs.Empty() {
		return Placement{}, false
	}
	p.shape = fmt.Sprint(g.shape(p.CPUs), p.Mempolicy, p.Nodes)
	p.Kubernetes = kubernetes(p.CPUs.Len(), k.kubernetes)
	if p.CPUs.Equal(g.m.Allowed()) {
		p.CPUs = cpuset.Set{} // it is what a command inherits
	}
	return p, true
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

func home(g ground) cpuset.Set { return g.on(g.m.OnNode(g.home)) }

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
		if first := g.on(g.m.OnNode(n)).First(); first >= 0 {
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
