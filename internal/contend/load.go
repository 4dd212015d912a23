package contend

import (
	"slices"

	"gorun/internal/catalog"
)

// Load is a pattern: which CPUs run at once, row after row.
type Load struct {
	Name  string
	Usage string
	// rows returns the CPUs of each row, in the order of the nodes. It is given the CPUs of each node, none empty.
	rows func(nodes [][]int) [][]int
}

// Loads are all load patterns, the default first.
var Loads = [...]Load{
	{"one-iteration", "all CPUs at once: one row", oneIteration},
	{"cpu-increase", "one CPU, then two, … until all run, node by node", cpuIncrease},
	{"node-cascade", "all CPUs of one node, then all of the next", nodeCascade},
	{"cpu-rollover", "the CPUs of one node, which move to the next node one by one, as many in each row", cpuRollover},
}

// Entry implements catalog.Entry.
func (l Load) Entry() (name, usage string) { return l.Name, l.Usage }

// LookupLoad returns the load pattern of that name.
func LookupLoad(name string) (Load, error) { return catalog.Find(Loads[:], "load", name) }

func oneIteration(nodes [][]int) [][]int { return [][]int{slices.Concat(nodes...)} }

func cpuIncrease(nodes [][]int) [][]int {
	all := slices.Concat(nodes...)
	rows := make([][]int, len(all))
	for i := range all {
		rows[i] = all[:i+1]
	}
	return rows
}

func nodeCascade(nodes [][]int) [][]int { return nodes }

// cpuRollover keeps as many CPUs running as the smallest node has, so that rows differ by place alone.
func cpuRollover(nodes [][]int) [][]int {
	burning := len(nodes[0])
	for _, cpus := range nodes {
		burning = min(burning, len(cpus))
	}
	rows := [][]int{nodes[0][:burning]}
	for i := range len(nodes) - 1 {
		for moved := 1; moved <= burning; moved++ {
			rows = append(rows, slices.Concat(nodes[i][:burning-moved], nodes[i+1][:moved]))
		}
	}
	return rows
}
