// Package named has the placements that have a name, such as one-cpu, same-core and near-eth0: those that can make a difference to a
// program, or to several copies of it, on a machine.
package named

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
)

// Placement is a setting with a name: where a program may run, and where its memory comes from.
type Placement struct {
	placement.Setting              // without CPUs, the program has those that it inherits
	Masks             []cpuset.Set // CPUs of each of several copies, in place of those that all of them may use; nil: all copies have the same
	Name              string
	Words             string // description
	Chosen            string // which CPU it has and why, if one was chosen among others
	Pod               *Pod   // how a pod gets it; nil: it cannot by itself

	needs string // what a pod needs in addition to exclusive CPUs; "-": it has no exclusive ones
	shape string // placements of the same shape are equivalent
	place string // those of one place are the same
}

// Pod is what a pod and its kubelet need for CPUs of the pod's own.
type Pod struct {
	CPUs  int    // how many
	Needs string // of the kubelet, in addition to the policy static; "": nothing
}

// String describes how a pod gets its CPUs (kubernetes.io, "Control CPU Management Policies on the Node"); "" if it cannot.
func (p *Pod) String() string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("cpu: %d in requests and limits alike (a Guaranteed pod), %s", p.CPUs, p.Kubelet())
}

// Kubelet returns what the kubelet needs.
func (p *Pod) Kubelet() string {
	needs := "the kubelet's cpuManagerPolicy: static"
	if p.Needs != "" {
		needs += " with " + p.Needs
	}
	return needs
}

const (
	// Auto stands for all placements that can matter.
	Auto = "auto"
	// AsIs is the placement in which each thread of a program that runs keeps the CPUs that it had.
	AsIs = "as-is"
)

// Scope is the part of a machine from which placements are made.
type Scope struct {
	Seed     uint64        // decides which CPU a placement of one CPU has, where several are equal
	Recorded []result.Cell // of the run that is continued: their placements have the same CPU again
	Running  bool          // the program runs already: nobody can give it a memory policy

	m      *topology.Machine
	cpus   cpuset.Set
	memory []topology.Node
	home   topology.Node // the node with the most of the CPUs
}

// In returns the scope of these CPUs and the memory of these nodes; empty: of all.
func In(m *topology.Machine, cpus, mems cpuset.Set) Scope {
	g := Scope{m: m, cpus: cpus.Intersect(m.Online())}
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

// kind is a placement without a machine.
type kind struct {
	name  string
	cpus  func(g Scope) cpuset.Set                    // nil: one CPU, which is chosen
	mem   func(g Scope) (linux.Mempolicy, cpuset.Set) // nil: no memory policy
	words string

	kubernetes string // what a pod needs in addition to exclusive CPUs; "-": it has no exclusive ones
}

// Entry implements catalog.Entry.
func (k kind) Entry() (name, usage string) { return k.name, k.words }

// kinds is the table of placements that can make a difference, in order: of two that are equivalent on a machine, the
// first is kept. cpus returns no CPUs if the placement does not exist on a machine. Without a policy, memory comes from
// the node of the thread that first touches it, so on CPUs of one node from that node: a strict binding would differ
// only in killing a program that does not fit.
var kinds = [...]kind{
	{"unbound", all, nil, "all CPUs of the run", "-"},
	{oneCPU, nil, nil, "one CPU of the fastest kind, with few interrupts", ""},
	{"smt-siblings", siblings, nil, "the threads of one core", "the option full-pcpus-only"},
	{
		"one-per-core", func(g Scope) cpuset.Set { return cpuset.Of(g.m.OnePerCore(g.cpus)...) }, nil,
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

// List lists the placements that one program can have on some machine, for the usage of a flag.
func List() string { return catalog.List(kinds[:]) }

// Completions returns the names of all placements, also of those of copies, each with its words after a tab.
func Completions() []string {
	return append(catalog.Completions(kinds[:]), catalog.Completions(copyKinds[:])...)
}

// Lookup finds a placement by its name, also one that is like an earlier one, one of a device, one CPU of a
// kind, a node or a cache, and CPUs by a selector or a kernel list.
func (g Scope) Lookup(name string) (Placement, error) {
	p, err := g.find(name)
	if err == nil && g.Running && p.Mempolicy != linux.MempolicyDefault {
		err = hint.With(errors.New("another process's memory policy cannot be set"),
			"with a control group, --vary mems=… places memory; gorun exec --placements starts a program with a policy")
	}
	return p, err
}

func (g Scope) find(name string) (Placement, error) {
	if of, ok := strings.CutPrefix(name, oneCPU+"-"); ok {
		return g.placeOneOf(name, of)
	}
	for _, k := range deviceKinds {
		if device, ok := strings.CutPrefix(name, k.selector+"-"); ok {
			return g.placeByDevice(k, device)
		}
	}
	if name != "" && (strings.Contains(name, ":") || name[0] >= '0' && name[0] <= '9') {
		ids, err := g.m.Select(name, g.cpus)
		if err != nil {
			return Placement{}, err
		}
		return g.settled(Placement{Setting: placement.Setting{CPUs: cpuset.Of(ids...)}, Name: name, Words: "CPUs " + name}), nil
	}
	for _, k := range kinds {
		if k.name != name {
			continue
		}
		if p, found := g.place(k); found {
			return p, nil
		}
		return Placement{}, hint.With(fmt.Errorf("there is no %s here (%s)", name, k.words), g.hint())
	}
	switch {
	case g.Running:
		return Placement{}, hint.With(fmt.Errorf("no placement %q of a program that runs", name), g.hint())
	case copyKindOf(name) != nil:
		return Placement{}, hint.With(fmt.Errorf("%s is a placement of several copies", name), "add --copies 2")
	case name == Auto:
		return Placement{}, hint.With(fmt.Errorf("%s is no single placement", name), "--placements auto compares all that can matter here")
	}
	near := hint.Near(name, append([]string{Auto}, append(catalog.Names(kinds[:]), catalog.Names(copyKinds[:])...)...))
	return Placement{}, hint.With(fmt.Errorf("no placement %q", name), near+"there are "+catalog.List(kinds[:])+"; of copies: "+catalog.List(copyKinds[:]))
}

// All returns the placements that can matter to a program, without those that are like an earlier one. There are at most as many as
// kinds, 12, two more of a device ("": none), and one CPU more for each kind of CPU or node that is known to differ.
func (g Scope) All(device string) ([]Placement, error) {
	var ofDevice []Placement
	for _, k := range deviceKinds {
		if device == "" {
			continue
		}
		p, err := g.placeByDevice(k, device)
		if err != nil {
			return nil, err
		}
		ofDevice = append(ofDevice, p)
	}
	return g.placements(ofDevice), nil
}

// placements returns those of all kinds after the first, which has all CPUs, and those of a device. Those of a device are
// kept although they are like others: what differs is where the device is. The same place is there once.
func (g Scope) placements(ofDevice []Placement) (placements []Placement) {
	shapes, places := map[string]bool{}, map[string]bool{}
	add := func(of ...Placement) {
		for _, p := range of {
			if !places[p.place] && !(g.Running && p.Mempolicy != linux.MempolicyDefault) {
				shapes[p.shape], places[p.place] = true, true
				placements = append(placements, p)
			}
		}
	}
	for i, k := range kinds {
		p, found := g.place(k)
		if found && !shapes[p.shape] {
			add(p)
		}
		if found && k.name == oneCPU {
			add(g.othersThan(p)...)
		}
		if i == 0 {
			add(ofDevice...)
		}
	}
	return placements
}

// place makes a placement of a kind; false if it does not exist on the machine.
func (g Scope) place(k kind) (Placement, bool) {
	if g.cpus.Empty() {
		return Placement{}, false
	}
	if k.cpus == nil {
		return g.placeOne(k.name, k.words, g.cpus), true
	}
	p := Placement{Setting: placement.Setting{CPUs: k.cpus(g)}, Name: k.name, Words: k.words, needs: k.kubernetes}
	if k.mem != nil {
		if p.Mempolicy, p.Nodes = k.mem(g); p.Nodes.Empty() {
			return Placement{}, false
		}
	}
	if p.CPUs.Empty() {
		return Placement{}, false
	}
	p.shape = fmt.Sprint(g.shape(p.CPUs), p.Mempolicy, p.Nodes)
	return g.settled(p), true
}

// settled returns a placement whose CPUs are those that it asks for.
func (g Scope) settled(p Placement) Placement {
	p.place = fmt.Sprint(p.CPUs, p.Mempolicy, p.Nodes)
	if p.needs != "-" {
		p.Pod = &Pod{CPUs: p.CPUs.Len(), Needs: p.needs}
	}
	if p.CPUs.Equal(g.m.Allowed()) && !g.Running {
		p.CPUs = cpuset.Set{} // a command inherits these
	}
	return p
}

// on returns the CPUs that belong to the run.
func (g Scope) on(cpus cpuset.Set) cpuset.Set { return cpus.Intersect(g.cpus) }

// shape describes how CPUs are related and their kinds: node by node, cache by cache, how many threads of each core.
// Sets of the same shape differ only by symmetry: "[(2/0 2/0) (2/0 2/0)]" is a node with two caches, each of two cores of
// kind 0 with both threads.
func (g Scope) shape(cpus cpuset.Set) string {
	type place struct{ node, llc, core int }
	threads, kinds := map[place]int{}, map[place]int{}
	for cpu := range cpus.All() {
		c, _ := g.m.CPU(cpu)
		at := place{c.Node, c.LLC, c.Core}
		threads[at]++
		kinds[at] = c.Kind
	}
	caches := map[place][]string{}
	for at, n := range threads {
		cache := place{at.node, at.llc, 0}
		caches[cache] = append(caches[cache], fmt.Sprintf("%d/%d", n, kinds[at]))
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

func all(g Scope) cpuset.Set { return g.cpus }

func home(g Scope) cpuset.Set { return g.on(g.m.OnNode(g.home)) }

// siblings returns the threads of the first core with the greatest number of them.
func siblings(g Scope) cpuset.Set {
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

// llc returns the CPUs of the first last-level cache with the greatest number of them.
func llc(g Scope) cpuset.Set {
	var most cpuset.Set
	for _, l := range g.m.LLCs {
		if cpus := g.on(l.CPUs); cpus.Len() > most.Len() {
			most = cpus
		}
	}
	return most
}

func spread(g Scope) cpuset.Set {
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

func class(name string) func(g Scope) cpuset.Set {
	return func(g Scope) cpuset.Set {
		return g.on(g.m.Where(func(c topology.CPU) bool { return c.Class == name }))
	}
}

func interleaved(g Scope) (linux.Mempolicy, cpuset.Set) {
	if len(g.memory) < 2 {
		return 0, cpuset.Set{}
	}
	var nodes []int
	for _, n := range g.memory {
		nodes = append(nodes, n.Node)
	}
	return linux.MempolicyInterleave, cpuset.Of(nodes...)
}

// remote returns the node with memory that is farthest from home, or the last one if distances are not known.
func remote(g Scope) (linux.Mempolicy, cpuset.Set) {
	if len(g.memory) < 2 {
		return 0, cpuset.Set{}
	}
	others := slices.DeleteFunc(slices.Clone(g.memory), func(n topology.Node) bool { return n.Node == g.home.Node })
	distance := func(n topology.Node) int {
		distance, _ := g.m.Distance(g.home.Node, n.Node)
		return distance
	}
	slices.SortStableFunc(others, func(a, b topology.Node) int { return cmp.Compare(distance(a), distance(b)) })
	return linux.MempolicyBind, cpuset.Of(others[len(others)-1].Node)
}

// hint lists the placements of the machine.
func (g Scope) hint() string {
	var names []string
	if g.Running {
		names = append(names, AsIs)
	}
	for _, p := range g.placements(nil) {
		names = append(names, p.Name)
	}
	list := "there are " + strings.Join(names, ", ")
	if g.Running {
		list += "; CPUs, as 0-3 or node:0; and auto for all that can matter here"
	}
	return list
}
