package named

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
)

// oneCPU is the placement of one CPU. "one-cpu-node-1" is one CPU of those that the selector node:1 has.
const oneCPU = "one-cpu"

// oneOf are the selectors that a name of one CPU may have.
var oneOf = [...]string{"kind", "node", "llc"}

// placeOneOf makes the placement of one CPU that a selector has, given as "node-1". Errors are those of the selector.
func (g Scope) placeOneOf(name, of string) (Placement, error) {
	selector, number, _ := strings.Cut(of, "-")
	if !slices.Contains(oneOf[:], selector) {
		return Placement{}, hint.With(fmt.Errorf("no placement %q", name),
			fmt.Sprintf("%s, or with one of the numbers that gorun topo shows: %[1]s-%s-1", oneCPU, strings.Join(oneOf[:], "-1, "+oneCPU+"-")))
	}
	cpus, err := g.m.Select(selector+":"+number, g.cpus)
	if err != nil {
		return Placement{}, err
	}
	return g.placeOne(name, fmt.Sprintf("one CPU of %s %s", selector, number), cpuset.Of(cpus...)), nil
}

// placeOne makes a placement of one of these CPUs.
func (g Scope) placeOne(name, words string, within cpuset.Set) Placement {
	cpu, why := g.choose(within)
	if had := g.had(name); had.Len() == 1 && within.Contains(had.First()) && had.First() != cpu {
		cpu, why = had.First(), "as the run began"
	}
	p := Placement{
		Setting: placement.Setting{CPUs: cpuset.Of(cpu)}, Name: name, Words: words,
		Chosen: fmt.Sprintf("%s is CPU %d: %s", name, cpu, why),
	}
	p.shape = fmt.Sprint(g.shape(p.CPUs), p.Mempolicy, p.Nodes)
	return g.settled(p)
}

// had returns the CPUs that a placement has in the run that is continued.
func (g Scope) had(name string) (cpus cpuset.Set) {
	i := slices.IndexFunc(g.Recorded, func(c result.Cell) bool { return c.Flags["placement"] == name })
	if i >= 0 {
		cpus, _ = cpuset.Parse(g.Recorded[i].CPUs["cpus"].List) // checked when it was read
	}
	return cpus
}

// othersThan returns one CPU of each kind of CPU, of each kind of node and of each size of cache that the first placement
// does not have: what holds for that CPU need not hold for these.
func (g Scope) othersThan(first Placement) (placements []Placement) {
	positions := g.positions()
	at := func(p Placement) position {
		if p.CPUs.Empty() {
			return positions[g.m.Allowed().First()] // as inherited
		}
		return positions[p.CPUs.First()]
	}
	having := []position{at(first)}
	add := func(selector string, number int, cpus cpuset.Set, alike func(a, b position) bool) {
		if cpus = g.on(cpus); cpus.Empty() {
			return
		}
		of := positions[cpus.First()]
		if slices.ContainsFunc(having, func(p position) bool { return alike(p, of) }) {
			return
		}
		p := g.placeOne(fmt.Sprintf("%s-%s-%d", oneCPU, selector, number), fmt.Sprintf("one CPU of %s %d", selector, number), cpus)
		if selector != "kind" {
			p.shape += p.Name // its place is not part of the shape
		}
		placements, having = append(placements, p), append(having, at(p))
	}
	for kind, cpus := range g.m.Kinds() {
		add("kind", kind, cpus, func(a, b position) bool { return a.kind == b.kind })
	}
	for _, n := range g.m.Nodes {
		add("node", n.Node, g.m.OnNode(n), position.sameNode)
	}
	for _, l := range g.m.LLCs {
		add("llc", l.LLC, l.CPUs, func(a, b position) bool { return a.cache == b.cache })
	}
	return placements
}

// choose returns the CPU of these that runs a program best by what is known, and why: each step keeps the best of what
// the one before it left, and the seed decides among those that are equal.
func (g Scope) choose(within cpuset.Set) (cpu int, why string) {
	positions := g.positions()
	left := within.List()
	if len(left) == 1 {
		return left[0], "the only one"
	}
	var reasons []string
	keep := func(words string, better func(a, b position) int) {
		best := slices.MinFunc(left, func(a, b int) int { return better(positions[a], positions[b]) })
		rest := slices.DeleteFunc(slices.Clone(left), func(cpu int) bool { return better(positions[best], positions[cpu]) < 0 })
		if len(rest) < len(left) {
			reasons = append(reasons, words)
		}
		left = rest
	}
	keep("of the fastest kind", func(a, b position) int { return a.kind - b.kind })
	keep("nearest to memory", func(a, b position) int { return slices.Compare(a.distances, b.distances) })
	keep("with the largest cache", func(a, b position) int { return a.cache - b.cache })
	keep("on the largest node", func(a, b position) int { return slices.Compare(a.sizes[:], b.sizes[:]) })
	if len(left) > 1 {
		quiet, known := g.quiet(left)
		switch {
		case !known:
			reasons = append(reasons, "interrupts are not known")
		case len(quiet) < len(left):
			reasons = append(reasons, "fewest interrupts since boot")
		}
		left = quiet
	}
	if len(left) > 1 {
		reasons = append(reasons, fmt.Sprintf("by the seed among %d", len(left)))
	}
	return left[rand.New(rand.NewPCG(g.Seed, 0)).IntN(len(left))], strings.Join(reasons, "; ")
}

// quiet returns the CPUs with the fewest interrupts of devices. Counts up to twice the least, or of up to one a second,
// are no difference. If they are not known, it returns all.
func (g Scope) quiet(cpus []int) (quiet []int, known bool) {
	counts, seconds := g.m.Interrupts()
	for _, cpu := range cpus {
		if _, counted := counts[cpu]; !counted {
			return cpus, false
		}
	}
	least := counts[slices.MinFunc(cpus, func(a, b int) int { return cmp.Compare(counts[a], counts[b]) })]
	few := max(2*least, uint64(seconds))
	return slices.DeleteFunc(slices.Clone(cpus), func(cpu int) bool { return counts[cpu] > few }), true
}

// position is what is known of a CPU and of where it is. Two CPUs with equal positions differ only by symmetry. Smaller is
// better.
type position struct {
	kind      int
	distances []int  // to the nodes with memory for the run, the nearest first
	cache     int    // rank of the last-level cache by its size
	sizes     [2]int // ranks of the node by its memory and its CPUs
}

func (p position) sameNode(other position) bool {
	return slices.Equal(p.distances, other.distances) && p.sizes == other.sizes
}

// positions returns the position of each CPU of the run.
func (g Scope) positions() map[int]position {
	caches, memory, cpus := map[int]*uint64{}, map[int]*uint64{}, map[int]*uint64{}
	for _, l := range g.m.LLCs {
		if !g.on(l.CPUs).Empty() {
			caches[l.LLC] = l.SizeBytes
		}
	}
	for _, n := range g.m.Nodes {
		if on := g.m.OnNode(n); !g.on(on).Empty() {
			memory[n.Node], cpus[n.Node] = n.MemoryBytes, new(uint64(on.Len()))
		}
	}
	cacheRanks, memoryRanks, cpuRanks := ranks(caches), ranks(memory), ranks(cpus)
	distances := map[int][]int{topology.Unknown: g.distances(topology.Unknown)}
	for _, n := range g.m.Nodes {
		distances[n.Node] = g.distances(n.Node)
	}
	positions := map[int]position{}
	for cpu := range g.cpus.All() {
		c, _ := g.m.CPU(cpu)
		positions[cpu] = position{
			kind: c.Kind, distances: distances[c.Node], cache: cacheRanks[c.LLC],
			sizes: [2]int{memoryRanks[c.Node], cpuRanks[c.Node]},
		}
	}
	return positions
}

// distances returns those from a node to the nodes with memory for the run, ascending. Where they are not recorded, all
// other nodes are equally far.
func (g Scope) distances(node int) []int {
	var all []int
	for _, n := range g.memory {
		distance, recorded := g.m.Distance(node, n.Node)
		switch {
		case recorded:
		case n.Node == node:
			distance = 10
		default:
			distance = 20
		}
		all = append(all, distance)
	}
	slices.Sort(all)
	return all
}

// ranks returns the rank of each size, the greatest 0. Sizes that are not much smaller than the one before them have its
// rank: the firmware takes some of a node's memory, and single CPUs may be offline. If one is not known, none differs.
func ranks(sizes map[int]*uint64) map[int]int {
	for _, size := range sizes {
		if size == nil {
			return nil
		}
	}
	order := slices.SortedFunc(maps.Keys(sizes), func(a, b int) int { return cmp.Compare(*sizes[b], *sizes[a]) })
	ranks, rank := map[int]int{}, 0
	for i, of := range order {
		if i > 0 && *sizes[of] < *sizes[order[i-1]]/3*2 {
			rank++
		}
		ranks[of] = rank
	}
	return ranks
}
