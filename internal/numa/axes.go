package numa

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorun/csrc"
	"gorun/internal/catalog"
	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// keep is the word for the value of a setting before the run.
const keep = "keep"

// all is the word for every possible node, and the word for no node after them.
const all = "all"

// nodeAxis describes how to parse an axis of nodes.
type nodeAxis struct {
	rest    string     // the word for no node
	first   bool       // rest comes first, else last
	nodes   cpuset.Set // possible nodes
	without string     // property of the other nodes, to follow "node 1 has "
}

// ParseMem parses the nodes to which the memory is bound: a list of nodes and "float" ("0-1,float"), or "all" or "" for
// all nodes with memory and float. The result is ascending, with float last.
func ParseMem(text string, m *topology.Machine) ([]int, error) {
	return nodeAxis{rest: "float", nodes: withMemory(m), without: "no memory"}.parse(text, m)
}

// ParseCPU parses the nodes to whose CPUs the probe is bound, like ParseMem: nodes with CPUs of the run.
func ParseCPU(text string, m *topology.Machine, cpus cpuset.Set) ([]int, error) {
	return nodeAxis{rest: "float", nodes: withCPUs(m, cpus), without: withoutCPUs(cpus)}.parse(text, m)
}

// ParsePreferred parses the preferred nodes: a list of nodes and "none" ("none,0-1"), or "all" or "" for none and all
// possible nodes. by is a name of PreferredWays. None comes first.
func ParsePreferred(text, by string, m *topology.Machine, cpus cpuset.Set) ([]int, error) {
	axis := nodeAxis{rest: "none", first: true, nodes: withCPUs(m, cpus), without: withoutCPUs(cpus)}
	if by == ByMempolicy {
		axis.nodes, axis.without = withMemory(m), "no memory"
	}
	return axis.parse(text, m)
}

// withMemory returns the nodes with memory, including those whose memory is unknown.
func withMemory(m *topology.Machine) (nodes cpuset.Set) {
	for _, node := range m.Nodes {
		if node.HasMemory() {
			nodes = nodes.With(node.Node)
		}
	}
	return nodes
}

// withCPUs returns the nodes on which the run has CPUs.
func withCPUs(m *topology.Machine, cpus cpuset.Set) (nodes cpuset.Set) {
	for _, node := range m.Nodes {
		if !nodeCPUs(m, node.Node, cpus).Empty() {
			nodes = nodes.With(node.Node)
		}
	}
	return nodes
}

func withoutCPUs(cpus cpuset.Set) string { return fmt.Sprintf("none of the run's CPUs %s", cpus) }

// nodeCPUs returns the run's CPUs of a node.
func nodeCPUs(m *topology.Machine, node int, cpus cpuset.Set) cpuset.Set {
	return m.Where(func(c topology.CPU) bool { return c.Online && c.Node == node }).Intersect(cpus)
}

func (a nodeAxis) parse(text string, m *topology.Machine) ([]int, error) {
	if text == "" {
		text = all
	}
	var there, asked cpuset.Set
	for _, node := range m.Nodes {
		there = there.With(node.Node)
	}
	rest := false
	for term := range strings.SplitSeq(text, ",") {
		switch term = strings.TrimSpace(term); term {
		case a.rest:
			rest = true
		case all:
			rest, asked = true, asked.Union(a.nodes)
		default:
			nodes, err := m.SelectNodes(term, a.nodes)
			if errors.As(err, new(*topology.SelectError)) {
				return nil, err
			}
			if err != nil || nodes.Empty() {
				return nil, hint.With(fmt.Errorf("%q is not a node", term),
					fmt.Sprintf("write nodes, ranges, near:DEVICE, far:DEVICE, %s or all, joined by commas; this machine has nodes %s",
						a.rest, there))
			}
			asked = asked.Union(nodes)
		}
	}
	if absent := asked.Minus(there); !absent.Empty() {
		return nil, hint.With(fmt.Errorf("this machine has no node %d", absent.First()), "it has nodes "+there.String())
	}
	if lacking := asked.Minus(a.nodes); !lacking.Empty() {
		return nil, hint.With(fmt.Errorf("node %d has %s", lacking.First(), a.without),
			fmt.Sprintf("give nodes of %s, or %s", a.nodes, a.rest))
	}
	list := asked.List()
	switch {
	case rest && a.first:
		list = append([]int{None}, list...)
	case rest:
		list = append(list, Float)
	}
	return list, nil
}

// The values of --rows.
const (
	RowsSome = "some"
	RowsAll  = "all"
)

// fewNodes is the greatest number of nodes for which all rows are the default, as in the RFC's first table. The number
// of rows grows with the cube of the nodes: 16 nodes have 5,202.
const fewNodes = 2

// choose reduces each axis without a flag to a few nodes: the memory is on one node, and the probe on one node for each
// distance from it, the nearest first. If the probe has only one node, the memory is on one node for each distance from
// that one. The preferred nodes are the memory's, and one of the furthest from it.
func (a *Axes) choose(given func(flag string) bool, m *topology.Machine) {
	floats := func(node int) bool { return node < 0 }
	memory, running := slices.DeleteFunc(slices.Clone(a.Mem), floats), slices.DeleteFunc(slices.Clone(a.CPU), floats)
	if len(memory) == 0 || len(running) == 0 {
		return // no node is left to choose from
	}
	home := memory[0]
	for _, node := range memory {
		if slices.Contains(running, node) {
			home = node
			break
		}
	}
	if !given("mem") {
		if len(running) == 1 {
			a.Mem = append(byDistance(m, running[0], memory), Float)
		} else {
			a.Mem = []int{home, Float}
		}
	}
	if !given("cpu") {
		a.CPU = append(byDistance(m, home, running), Float)
	}
	if !given("preferred-node") {
		a.PreferredNode = slices.DeleteFunc(a.PreferredNode, func(node int) bool { return node == None })
		if nodes := byDistance(m, home, a.PreferredNode); len(nodes) > 2 {
			a.PreferredNode = []int{nodes[0], nodes[len(nodes)-1]}
		} else {
			a.PreferredNode = nodes
		}
		a.PreferredNode = append([]int{None}, a.PreferredNode...)
	}
}

// byDistance returns one of the nodes for each distance from a node, the nearest first. Among equal distances it is the
// first in the list. If distances are unknown, the node itself is near, and all others are equally far.
func byDistance(m *topology.Machine, from int, nodes []int) []int {
	distance := func(to int) int {
		distance, recorded := m.Distance(from, to)
		if !recorded && to != from {
			return 1
		}
		return distance
	}
	nodes = slices.Clone(nodes)
	slices.SortStableFunc(nodes, func(a, b int) int { return cmp.Compare(distance(a), distance(b)) })
	return slices.CompactFunc(nodes, func(a, b int) bool { return distance(a) == distance(b) })
}

// The names of PreferredWays.
const (
	ByPrctl     = "prctl"
	ByMempolicy = "mempolicy"
)

// PreferredWay is a way to make a node preferred.
type PreferredWay struct{ Name, Usage string }

// Entry implements catalog.Entry.
func (w PreferredWay) Entry() (name, usage string) { return w.Name, w.Usage }

// PreferredWays lists the ways, the default first.
var PreferredWays = [...]PreferredWay{
	{ByPrctl, "set it in the scheduler (prctl 101, a patch that was never merged)"},
	{ByMempolicy, "allocate floating memory there while there is some (MPOL_PREFERRED_MANY, home node)"},
}

// ParsePreferredBy parses a name of PreferredWays.
func ParsePreferredBy(text string) (string, error) {
	words, err := parseWords(text, "a way to prefer a node", catalog.Names(PreferredWays[:]))
	if err == nil && len(words) > 1 {
		err = errors.New("give a single way to prefer a node")
	}
	if err != nil {
		return "", err
	}
	return words[0], nil
}

// ParseBalancing parses the values of NUMA balancing, from 0, 1 and keep, and returns them in this order. "" is 0 and
// 1.
func ParseBalancing(text string) ([]int, error) {
	if text == "" {
		return []int{0, 1}, nil
	}
	words, err := parseWords(text, "a value of NUMA balancing", []string{"0", "1", "keep"})
	if err != nil {
		return nil, err
	}
	slices.Sort(words) // digits sort before letters
	values := make([]int, len(words))
	for i, word := range words {
		if values[i], err = strconv.Atoi(word); err != nil {
			values[i] = KeepSetting
		}
	}
	return values, nil
}

// ParseTimes parses times for a setting of the scheduler, and returns them in seconds in the order written, without
// duplicates. The word keep becomes 0: as before the run.
func ParseTimes(text string, of ...linux.SchedulerTime) ([]float64, error) {
	var times []float64
	for word := range strings.SplitSeq(text, ",") {
		word, seconds := strings.TrimSpace(word), 0.0
		if word != keep {
			d, err := time.ParseDuration(word)
			if err != nil {
				return nil, hint.With(fmt.Errorf("%q is not a time", word), "write times such as 50ms, and keep, joined by commas")
			}
			seconds = d.Seconds()
			for _, setting := range of {
				if _, err := setting.Number(seconds); err != nil {
					return nil, err
				}
			}
		}
		if !slices.Contains(times, seconds) {
			times = append(times, seconds)
		}
	}
	return times, nil
}

// PageNames lists the kinds of pages.
func PageNames() []string {
	names := make([]string, len(linux.PageKinds))
	for i, kind := range linux.PageKinds {
		names[i] = kind.Name
	}
	return names
}

// BindBalancing is the way to bind memory that NUMA balancing scans; it skips memory that is bound by bind.
const BindBalancing = "bind+balancing"

// MemPolicies lists the ways to bind memory, the default first.
var MemPolicies = []string{"bind", BindBalancing}

// The first touches of floating memory, which determine its node; the default first.
const (
	TouchNear        = "near"
	TouchFar         = "far"
	TouchInterleaved = "interleaved"
	TouchBefore      = "before"
)

// FirstTouches describes the first touches.
var FirstTouches = [...]PreferredWay{
	{TouchNear, "the probe, on the CPUs that it is bound to"},
	{TouchFar, "the probe, on the node furthest from there"},
	{TouchInterleaved, "the probe, on all nodes in turns"},
	{TouchBefore, "the probe before it is bound, on any CPU that the scheduler chose, as in the RFC's tables"},
}

// ParseMemPolicies parses ways to bind memory, in the order written. The default becomes "", as in rows.
func ParseMemPolicies(text string) ([]string, error) {
	return parseDefaulted(text, "a way to bind memory", MemPolicies)
}

// ParseFirstTouch parses first touches of floating memory, in the order written. The default becomes "", as in rows.
func ParseFirstTouch(text string) ([]string, error) {
	return parseDefaulted(text, "a first touch", catalog.Names(FirstTouches[:]))
}

// parseDefaulted parses words, and replaces the default, the first known one, by "".
func parseDefaulted(text, what string, known []string) ([]string, error) {
	words, err := parseWords(text, what, known)
	for i, word := range words {
		if word == known[0] {
			words[i] = ""
		}
	}
	return words, err
}

// ParsePages parses kinds of pages, in the order written.
func ParsePages(text string) ([]string, error) {
	return parseWords(text, "a kind of pages", PageNames())
}

// Accesses of csrc.ProbeAccesses: random, and index, which generates the same indices without accessing memory.
const (
	randomAccess = "random"
	indexAccess  = "index"
)

// AccessNames lists the access patterns.
func AccessNames() []string {
	var names []string
	for _, access := range csrc.ProbeAccesses {
		if access.Name != indexAccess {
			names = append(names, access.Name)
		}
	}
	return names
}

// ParseAccess parses access patterns, in the order written.
func ParseAccess(text string) ([]string, error) {
	return parseWords(text, "an access pattern", AccessNames())
}

// parseWords parses words joined by commas, and drops duplicates.
func parseWords(text, what string, known []string) ([]string, error) {
	var words []string
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if !slices.Contains(known, word) {
			return nil, hint.With(fmt.Errorf("%q is not %s", word, what), "there are "+strings.Join(known, ", "))
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words, nil
}

// NeedNodes returns a warning for each kind of the RFC's rows that need more nodes than this machine, or the run, has.
func NeedNodes(m *topology.Machine, cpus cpuset.Set) []result.Warning {
	memory, running := withMemory(m), withCPUs(m, cpus)
	const code = "few-nodes"
	if len(m.Nodes) < 2 {
		return []result.Warning{{
			Code: code,
			Message: "this machine has one node: of the RFC's rows, those with the memory on one node and the CPUs of " +
				"another need more, and floating threads and memory cannot move between nodes",
			Hint: "gorun topo shows the nodes",
		}}
	}
	var warnings []result.Warning
	if memory.Len() < 2 {
		warnings = append(warnings, result.Warning{
			Code: code, Message: fmt.Sprintf("only node %s has memory: of the RFC's rows, those with the memory on another "+
				"node need more", memory),
		})
	}
	if running.Len() < 2 {
		w := result.Warning{
			Code: code, Message: fmt.Sprintf("the run has CPUs on node %s only: of the RFC's rows, those with the CPUs of "+
				"another node need more, and a probe that floats cannot move between nodes", running),
		}
		if more := withCPUs(m, m.Allowed()); more.Len() > 1 {
			w.Hint = fmt.Sprintf("give it CPUs of nodes %s by --cpus", more)
		}
		warnings = append(warnings, w)
	}
	return warnings
}
