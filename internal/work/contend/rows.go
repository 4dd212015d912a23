package contend

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
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

// Sweep determine the rows. No list is empty, except one of the distances.
type Sweep struct {
	Ops       []Op
	Load      Load
	Nodes     []NodeCPUs
	DistBytes []int  // between the words of two threads; 0: one common word
	Dist      []int  // ccont's distances; if not empty, used instead of DistBytes
	MemNodes  []int  // ofFirstCPU is one of them
	Variant   string // one of Variants; "" if there are none
}

// Rows returns the rows to measure: for every operation, distance and memory node, all rows of the load pattern.
func Rows(o Sweep) []result.ContendRow {
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

	var rows []result.ContendRow
	for _, op := range o.Ops {
		for _, place := range o.places(op) {
			for _, memNode := range o.MemNodes {
				for _, row := range loaded {
					row.Row, row.Op, row.Instruction = len(rows), op.Name, op.Instruction(runtime.GOARCH, o.Variant)
					row.DistBytes, row.Dist, row.DistBy = place.DistBytes, place.Dist, place.DistBy
					if memNode != ofFirstCPU {
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
func (o Sweep) places(op Op) (places []result.ContendRow) {
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

// nodesOf returns the nodes of the CPUs, ascending; if a list of nodes is given ("0-1,3"), only those.
func nodesOf(m *topology.Machine, cpus cpuset.Set, list string) (nodes []NodeCPUs, err error) {
	asked := m.NodesWith(cpus)
	if asked.Empty() {
		return nil, errors.New("no node has a CPU of the run")
	}
	if list != "" {
		if asked, err = m.SelectNodes(list, asked, fmt.Sprintf("none of the run's CPUs %s", cpus)); err != nil {
			return nil, err
		}
	}
	for node := range asked.All() {
		nodes = append(nodes, NodeCPUs{node, m.NodeCPUs(node).Intersect(cpus).List()})
	}
	return nodes, nil
}

// nodeList formats the numbers of nodes.
func nodeList(nodes []NodeCPUs) string {
	var numbers cpuset.Set
	for _, node := range nodes {
		numbers = numbers.With(node.Node)
	}
	return numbers.String()
}

// The words that --mem-node accepts in addition to node numbers.
const (
	memLocal = "local"
	memAll   = "all"
)

// ofFirstCPU stands for the node of each row's first CPU.
const ofFirstCPU = -1

// parseMemNodes returns the nodes for the memory: the nodes of a list ("0-1,3"), "all" nodes with memory, or "local". The empty text is the
// first node with memory. The nodes are those of the run.
func parseMemNodes(text string, m *topology.Machine, nodes []NodeCPUs) ([]int, error) {
	switch text {
	case "":
		with := m.MemoryNodes().List()
		return with[:min(1, len(with))], nil
	case memAll:
		return m.MemoryNodes().List(), nil
	case memLocal:
		_, err := m.SelectMemory(nodeList(nodes))
		return []int{ofFirstCPU}, err
	}
	asked, err := m.SelectMemory(text)
	return asked.List(), err
}

// parseMultiples returns how a list of multiples of step from 0 to most is read.
func parseMultiples(step, most int) func(list string) ([]int, error) {
	what := "numbers"
	if step > 1 {
		what = fmt.Sprintf("multiples of %d", step)
	}
	parse := func(word string) (int, error) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || n > most || n%step != 0 {
			return 0, hint.With(fmt.Errorf("%q is not a distance", word),
				fmt.Sprintf("write %s from 0 to %d, joined by commas", what, most))
		}
		return n, nil
	}
	return func(list string) ([]int, error) { return catalog.ParseList(list, parse) }
}
