package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gorun/internal/stats"
)

// class returns what another node must share with a machine to be compared.
func (m *machine) class() Alike {
	return Alike{
		CPUModel: m.host.CPUModel, Microcode: m.host.Microcode, CPUs: m.cpus.Len(), Memory: roundMemory(m.host.MemoryBytes),
		Topology: m.host.Topology, Version: m.tool.Version,
	}
}

// roundMemory rounds to an eighth of the power of two below: what the kernel itself takes differs a little between equal machines.
func roundMemory(bytes uint64) uint64 {
	if bytes == 0 {
		return 0
	}
	step := math.Exp2(math.Floor(math.Log2(float64(bytes))) - 3)
	return uint64(math.Round(float64(bytes)/step) * step)
}

// classJudge judges a class.
type classJudge struct {
	Class
	nodes    map[string]bool
	measures map[string]*measureJudge
}

// measureJudge judges a measure of a class.
type measureJudge struct {
	of      *measureInfo
	figures map[string][]figure          // by node
	slots   map[int64][]stats.PeerFigure // that are to be settled
	last    map[string]int64             // slot of each node
	peers   *stats.Peers
}

// standing returns how a node of the class compares with it.
func (m *measureJudge) standing(class *classJudge, node string) Standing {
	parts := map[string]int{}
	for _, f := range m.figures[node] {
		parts[f.part]++
	}
	return Standing{
		Node: node, Measure: m.of.name, Class: class.Name, E: m.peers.E(node), Ratio: m.peers.Ratio(node), Bets: m.peers.Bets(node), Peers: m.peers.Most(node),
		Unit: m.of.unit, Better: m.of.better(), Figure: m.median(node), Median: m.classMedian(), Part: mostOften(parts),
	}
}

// mostOften returns the text that was counted most often, the first by name of several.
func mostOften(counts map[string]int) (most string) {
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		if counts[text] > counts[most] {
			most = text
		}
	}
	return most
}

// median returns the median figure of a node; false if it has none.
func (m *measureJudge) median(node string) float64 {
	var all []float64
	for _, f := range m.figures[node] {
		all = append(all, f.value)
	}
	return stats.Median(all)
}

// classMedian returns the median over the nodes' medians.
func (m *measureJudge) classMedian() float64 {
	var all []float64
	for node := range m.figures {
		all = append(all, m.median(node))
	}
	return stats.Median(all)
}

// sortedClasses returns the classes, the largest first, which it names A, B, …
func (j *judge) sortedClasses() []*classJudge {
	classes := slices.SortedFunc(maps.Values(j.classes), func(a, b *classJudge) int {
		return cmp.Or(len(b.nodes)-len(a.nodes), strings.Compare(fmt.Sprint(a.Alike), fmt.Sprint(b.Alike)))
	})
	classes = slices.DeleteFunc(classes, func(c *classJudge) bool { return len(c.nodes) == 0 })
	for i, c := range classes {
		c.Name = className(i)
	}
	return classes
}

// className returns A … Z, AA, AB, …
func className(i int) (name string) {
	for ; i >= 0; i = i/26 - 1 {
		name = string(rune('A'+i%26)) + name
	}
	return name
}
