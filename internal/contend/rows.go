package contend

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// wordBytes is the unit of --dist: the size of what the operations work on.
const wordBytes = 8

// The greatest distances: --dist as far as ccont's, which reaches the next cache line and with bits beyond it, and in bytes
// as far as a page goes.
const (
	maxDist      = 8
	maxDistBytes = 4096
)

// NodeCPUs are the CPUs of the run on one node, ascending and at least one.
type NodeCPUs struct {
	Node int
	CPUs []int
}

// Options are what rows are made of. No list is empty, but MemNodes where MemLocal is set.
type Options struct {
	Ops       []Op
	Load      Load
	Nodes     []NodeCPUs
	DistBytes []int // between the words of two threads; 0: one word for all
	Dist      []int // ccont's distances, in the place of DistBytes where there are any
	MemNodes  []int
	MemLocal  bool // memory of the node of each row's first CPU
	Arch      string
	Variant   string // of Variants; "" where there are none
}

// Rows returns what is to be measured, a row each: for every operation, distance and memory node, all rows of the load
// pattern.
func Rows(o Options) []result.ContendRow {
	cpus := make([][]int, len(o.Nodes))
	nodeOf := map[int]int{}
	for i, node := range o.Nodes {
		cpus[i] = node.CPUs
		for _, cpu := range node.CPUs {
			nodeOf[cpu] = node.Node
		}
	}
	loaded := make([]result.ContendRow, 0, len(cpus)) // what a row of the load pattern is for every operation
	for _, running := range o.Load.rows(cpus) {
		set := cpuset.Of(running...)
		loaded = append(loaded, result.ContendRow{
			Load: o.Load.Name, CPUs: len(running), CPUList: set.String(), Pattern: pattern(o.Nodes, set),
			MemNode: nodeOf[running[0]],
		})
	}

	memNodes := o.MemNodes
	if o.MemLocal {
		memNodes = []int{topology.Unknown} // one turn, with the nodes that the rows have
	}
	var rows []result.ContendRow
	for _, op := range o.Ops {
		for _, place := range o.places(op) {
			for _, memNode := range memNodes {
				for _, row := range loaded {
					row.Row, row.Op, row.Instruction = len(rows), op.Name, op.Instruction(o.Arch, o.Variant)
					row.DistBytes, row.Dist, row.DistBy = place.DistBytes, place.Dist, place.DistBy
					if !o.MemLocal {
						row.MemNode = memNode
					}
					rows = append(rows, row)
				}
			}
		}
	}
	return rows
}

// How --dist counts, as ccont does: in words, or where an operation works on a bit, in bits.
const (
	byWord = "word"
	byBit  = "bit"
)

// places returns rows of an operation that have distances only.
func (o Options) places(op Op) (places []result.ContendRow) {
	for _, dist := range o.Dist {
		if op.Bit {
			places = append(places, result.ContendRow{Dist: dist, DistBy: byBit})
		} else {
			places = append(places, result.ContendRow{Dist: dist, DistBy: byWord, DistBytes: dist * wordBytes})
		}
	}
	if len(o.Dist) > 0 {
		return places
	}
	for _, bytes := range o.DistBytes {
		places = append(places, result.ContendRow{DistBytes: bytes})
	}
	return places
}

// offset returns where the word is, in bytes, of a CPU that is the nth of a row. With --dist it follows from the CPU's
// number, and else from its place in the row. An operation on a bit works on the word that holds it.
func offset(row result.ContendRow, nth, cpu int) int {
	switch row.DistBy {
	case byWord:
		return cpu * row.Dist * wordBytes
	case byBit:
		return cpu << row.Dist / (8 * wordBytes) * wordBytes
	}
	return nth * row.DistBytes
}

// distance says how far the words of two threads are apart.
func distance(row result.ContendRow) string {
	switch row.DistBy {
	case byWord:
		return fmt.Sprintf("word CPU×%d", row.Dist)
	case byBit:
		return fmt.Sprintf("bit CPU<<%d", row.Dist)
	}
	return fmt.Sprintf("%d B", row.DistBytes)
}

// pattern draws which CPUs run: a group a node, * for one that runs and - for one that does not.
func pattern(nodes []NodeCPUs, running cpuset.Set) string {
	groups := make([]string, len(nodes))
	for i, node := range nodes {
		group := make([]byte, len(node.CPUs))
		for j, cpu := range node.CPUs {
			group[j] = '-'
			if running.Contains(cpu) {
				group[j] = '*'
			}
		}
		groups[i] = string(group)
	}
	return strings.Join(groups, " ")
}

// NodesOf returns the nodes that the CPUs are on, ascending; where a list of nodes is given ("0-1,3"), those of it.
// Each node of the list must exist and have one of the CPUs.
func NodesOf(m *topology.Machine, cpus cpuset.Set, list string) ([]NodeCPUs, error) {
	var nodes []NodeCPUs
	for _, node := range m.Nodes {
		on := m.Where(func(c topology.CPU) bool { return c.Online && c.Node == node.Node })
		if on = on.Intersect(cpus); !on.Empty() {
			nodes = append(nodes, NodeCPUs{node.Node, on.List()})
		}
	}
	if len(nodes) == 0 {
		return nil, errors.New("the run has no CPU")
	}
	if list == "" {
		return nodes, nil
	}
	asked, err := parseNodes(m, list, nodeNumbers(nodes))
	if err != nil {
		return nil, err
	}
	has := func(node int) bool {
		return slices.ContainsFunc(nodes, func(n NodeCPUs) bool { return n.Node == node })
	}
	for node := range asked.All() {
		if !has(node) {
			return nil, hint.With(fmt.Errorf("node %d has none of the run's CPUs %s", node, cpus),
				"the run has CPUs on nodes "+nodeNumbers(nodes).String())
		}
	}
	return slices.DeleteFunc(nodes, func(n NodeCPUs) bool { return !asked.Contains(n.Node) }), nil
}

func nodeNumbers(nodes []NodeCPUs) cpuset.Set {
	var numbers cpuset.Set
	for _, node := range nodes {
		numbers = numbers.With(node.Node)
	}
	return numbers
}

// parseNodes reads a list of nodes that exist, at least one. Those far from a device are among some nodes.
func parseNodes(m *topology.Machine, list string, among cpuset.Set) (cpuset.Set, error) {
	var there cpuset.Set
	for _, node := range m.Nodes {
		there = there.With(node.Node)
	}
	nodes, err := m.SelectNodes(list, among)
	if errors.As(err, new(*topology.SelectError)) {
		return nodes, err
	}
	if err != nil || nodes.Empty() {
		return cpuset.Set{}, hint.With(fmt.Errorf("%q is no list of nodes", list),
			"write numbers, ranges, near:DEVICE or far:DEVICE, joined by commas; this machine has nodes "+there.String())
	}
	if absent := nodes.Minus(there); !absent.Empty() {
		return cpuset.Set{}, hint.With(fmt.Errorf("this machine has no node %d", absent.First()),
			"it has nodes "+there.String())
	}
	return nodes, nil
}

// The words of --mem-node beside node numbers.
const (
	memLocal = "local"
	memAll   = "all"
)

// ParseMemNode reads on which nodes the memory is to be: a list of nodes ("0-1,3"), "all" that have memory, or "local",
// the node of each row's first CPU. Nothing is the first node that has memory. The nodes are those of the run.
func ParseMemNode(text string, m *topology.Machine, nodes []NodeCPUs) (memNodes []int, local bool, err error) {
	var with cpuset.Set
	for _, node := range m.Nodes {
		if node.HasMemory() {
			with = with.With(node.Node)
		}
	}
	asked := with
	switch text {
	case "":
		asked = cpuset.Of(with.List()[:min(1, with.Len())]...)
	case memAll:
	case memLocal:
		asked = nodeNumbers(nodes)
	default:
		if asked, err = parseNodes(m, text, with); err != nil {
			return nil, false, err
		}
	}
	if without := asked.Minus(with); !without.Empty() {
		return nil, false, hint.With(fmt.Errorf("node %d has no memory", without.First()),
			"give --mem-node one with memory: "+with.String())
	}
	if text == memLocal {
		return nil, true, nil
	}
	return asked.List(), false, nil
}

// ParseDistances reads where the words of threads lie: dist by the numbers of the CPUs, as ccont does, or distBytes between
// two threads; both are comma-joined lists. Without either, all threads share one word. Each distance comes once.
func ParseDistances(dist, distBytes string) (dists, inBytes []int, err error) {
	switch {
	case dist != "" && distBytes != "":
		return nil, nil, errors.New("--dist and --dist-bytes exclude each other: give one of them")
	case dist != "":
		dists, err = parseMultiples("--dist", dist, 1, maxDist)
	case distBytes != "":
		inBytes, err = parseMultiples("--dist-bytes", distBytes, wordBytes, maxDistBytes)
	default:
		inBytes = []int{0}
	}
	return dists, inBytes, err
}

// parseMultiples reads multiples of step from 0 to most.
func parseMultiples(flag, list string, step, most int) ([]int, error) {
	var distances []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 0 || n > most || n%step != 0 {
			what := "numbers"
			if step > 1 {
				what = fmt.Sprintf("multiples of %d", step)
			}
			return nil, hint.With(fmt.Errorf("%s %q is not a distance", flag, text),
				fmt.Sprintf("write %s from 0 to %d, joined by commas", what, most))
		}
		if !slices.Contains(distances, n) {
			distances = append(distances, n)
		}
	}
	return distances, nil
}
