package contend

import (
	"slices"

	"gorun/internal/base/catalog"
)

// Load is a pattern of rows, each with the CPUs that run at the same time.
type Load struct {
	Name  string
	Usage string
	// rows returns the CPUs of each row, in the order of the nodes. Its argument is the CPUs of each node, none empty.
	rows func(nodes [][]int) [][]int
}

// Loads lists all load patterns, the default first.
var Loads = [...]Load{
	{"one-iteration", "all CPUs at once: one row", func(nodes [][]int) [][]int { return [][]int{slices.Concat(nodes...)} }},
	{"cpu-increase", "one CPU, then two, … until all run, node by node", cpuIncrease},
	{"node-cascade", "all CPUs of one node, then all of the next", func(nodes [][]int) [][]int { return nodes }},
	{
		"cpu-rollover",
		"the same number of CPUs in each row: they spread from the first node over all, and gather on the last, as in ccont",
		cpuRollover,
	},
}

// Entry implements catalog.Entry.
func (l Load) Entry() (name, usage string) { return l.Name, l.Usage }

// LookupLoad returns the load pattern of that name.
func LookupLoad(name string) (Load, error) { return catalog.Find(Loads[:], "load", name) }

func cpuIncrease(nodes [][]int) [][]int {
	all := slices.Concat(nodes...)
	rows := make([][]int, len(all))
	for i := range all {
		rows[i] = all[:i+1]
	}
	return rows
}

// cpuRollover moves one CPU from row to row, in the order of ccont (its page shows two nodes, its program accepts any
// number). Every row has as many CPUs as the smallest node, so that rows differ only in the position of the CPUs. First the
// CPUs spread: the next node takes CPUs from the fullest one until it has its share, then the node after it does. When the
// last node has its share they gather: the first node that still has CPUs gives them to the emptiest node after it.
func cpuRollover(nodes [][]int) (rows [][]int) {
	running, last := len(nodes[0]), len(nodes)-1
	for _, cpus := range nodes {
		running = min(running, len(cpus))
	}
	counts := make([]int, len(nodes)) // of the CPUs that run, by node
	move := func(from, to int) {
		counts[from]--
		counts[to]++
		var row []int
		for i, n := range counts {
			row = append(row, nodes[i][:n]...)
		}
		rows = append(rows, row)
	}
	counts[0] = running
	rows = append(rows, nodes[0][:running])
	for next := 1; next <= last; next++ {
		for share := max(1, running/(next+1)); counts[next] < share; {
			move(slices.Index(counts, slices.Max(counts[:next])), next)
		}
	}
	for counts[last] < running {
		first := slices.IndexFunc(counts, func(n int) bool { return n > 0 })
		behind := counts[first+1:]
		move(first, first+1+slices.Index(behind, slices.Min(behind)))
	}
	return rows
}
