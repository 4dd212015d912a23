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

// wordBytes is the unit of --dist: the size of the word that operations use.
const wordBytes = 8

// The greatest distances: --dist up to ccont's limit, which reaches the next cache line and with bits goes beyond it,
// and --dist-bytes up to a page.
const (
	maxDist      = 8
	maxDistBytes = 4096
)

// NodeCPUs is a node with its CPUs of the run, ascending, at least one.
type NodeCPUs struct {
	Node int
	CPUs []int
}

// Options determine the rows. No list is empty, except MemNodes if MemLocal is set.
type Options struct {
	Ops       []Op
	Load      Load
	Nodes     []NodeCPUs
	DistBytes []int // between the words of two threads; 0: one common word
	Dist      []int // ccont's distances; if not empty, used instead of DistBytes
	MemNodes  []int
	MemLocal  bool // memory of the node of each row's first CPU
	Arch      string
	Variant   string // one of Variants; "" if there are none
}

// Rows returns the rows to measure: for every operation, distance and memory node, all rows of the load pattern.
func Rows(o Options) []result.ContendRow {
	cpus := make([][]int, len(o.Nodes))
	nodeOf := map[int]int{}
	for i, node := range o.Nodes {
		cpus[i] = node.CPUs
		for _, cpu := range node.CPUs {
			nodeOf[cpu] = node.Node
		}
	}
	loaded := make([]result.ContendRow, 0, len(cpus)) // the rows of the load pattern, the same for every operation
	for _, running := range o.Load.rows(cpus) {
		set := cpuset.Of(running...)
		loaded = append(loaded, result.ContendRow{
			Load: o.Load.Name, CPUs: len(running), CPUList: set.String(), Pattern: pattern(o.Nodes, set),
			MemNode: nodeOf[running[0]],
		})
	}

	memNodes := o.MemNodes
	if o.MemLocal {
		memNodes = []int{topology.Unknown} // one pass, in which each row has its own node
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

// The units of --dist, as in ccont: words, or bits if an operation works on a bit.
const (
	byWord = "word"
	byBit  = "bit"
)

// places returns rows of an operation with only the distance set.
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

// offset returns the byte offset of the word of the nth CPU of a row. With --dist it depends on the CPU's number,
// otherwise on n. An operation on a bit uses the word that contains it.
func offset(row result.ContendRow, nth, cpu int) int {
	switch row.DistBy {
	case byWord:
		return cpu * row.Dist * wordBytes
	case byBit:
		return cpu << row.Dist / (8 * wordBytes) * wordBytes
	}
	return nth * row.DistBytes
}

// distance describes the distance between the words of two threads.
func distance(row result.ContendRow) string {
	switch row.DistBy {
	case byWord:
		return fmt.Sprintf("word CPU×%d", row.Dist)
	case byBit:
		return fmt.Sprintf("bit CPU<<%d", row.Dist)
	}
	return fmt.Sprintf("%d B", row.DistBytes)
}

// pattern draws the CPUs in groups by node, with * for a CPU that runs and - for one that does not.
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

// NodesOf returns the nodes of the CPUs, ascending; if a list of nodes is given ("0-1,3"), only those. Each node of
// the list must exist and have one of the CPUs.
func NodesOf(m *topology.Machine, cpus cpuset.Set, list string) ([]NodeCPUs, error) {
	var nodes []NodeCPUs
	for _, node := range m.Nodes {
		if on := m.NodeCPUs(node.Node).Intersect(cpus); !on.Empty() {
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
	if lacking := asked.Minus(nodeNumbers(nodes)); !lacking.Empty() {
		return nil, hint.With(fmt.Errorf("node %d has none of the run's CPUs %s", lacking.First(), cpus),
			"the run has CPUs on nodes "+nodeNumbers(nodes).String())
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

// parseNodes parses a list of existing nodes, at least one. A far: selector chooses out of among.
func parseNodes(m *topology.Machine, list string, among cpuset.Set) (cpuset.Set, error) {
	there := m.NodeNumbers()
	nodes, err := m.SelectNodes(list, among)
	if errors.As(err, new(*topology.SelectError)) {
		return nodes, err
	}
	if err != nil || nodes.Empty() {
		return cpuset.Set{}, hint.With(fmt.Errorf("%q is not a list of nodes", list),
			"write numbers, ranges, near:DEVICE or far:DEVICE, joined by commas; this machine has nodes "+there.String())
	}
	if absent := nodes.Minus(there); !absent.Empty() {
		return cpuset.Set{}, hint.With(fmt.Errorf("this machine has no node %d", absent.First()),
			"it has nodes "+there.String())
	}
	return nodes, nil
}

// The words that --mem-node accepts in addition to node numbers.
const (
	memLocal = "local"
	memAll   = "all"
)

// ParseMemNode parses the nodes for the memory: a list of nodes ("0-1,3"), "all" nodes with memory, or "local", the
// node of each row's first CPU. The empty text is the first node with memory. The nodes are those of the run.
func ParseMemNode(text string, m *topology.Machine, nodes []NodeCPUs) (memNodes []int, local bool, err error) {
	with := m.MemoryNodes()
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

// ParseDistances parses the distances between the threads' words: dist in the units of ccont, by CPU number, or
// distBytes between two threads; both are comma-joined lists. Without either, all threads share one word. There are
// no duplicates.
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

// parseMultiples parses multiples of step from 0 to most.
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
