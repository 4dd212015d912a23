package c2c

import (
	"fmt"
	"math/rand/v2"
	"time"

	"gorun/internal/catalog"
	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// What a pair takes.
const (
	leastPair = 2 * time.Millisecond   // of round trips: some hundred batches, enough for a median
	mostPair  = 20 * time.Millisecond  // of round trips: more tells no more
	fixedPair = 500 * time.Microsecond // beside them: a fresh line, two threads woken and verified
)

// Pair are two CPUs that hand a cache line back and forth; A is the lower.
type Pair struct {
	A, B     int
	Relation topology.Relation
}

// PairPlan is which pairs are measured, and for how long each.
type PairPlan struct {
	Which string // of PairWhich
	Pairs []Pair
	Each  time.Duration // of round trips
}

// Which is a choice of pairs.
type Which struct {
	Name  string
	Usage string
	// choose returns the CPUs of which any two are a pair, ascending, and the pairs beside. Between them they have every
	// relation that two of the given CPUs have.
	choose func(m *topology.Machine, cpus cpuset.Set) (each []int, beside [][2]int)
}

// Entry implements catalog.Entry.
func (w Which) Entry() (name, usage string) { return w.Name, w.Usage }

// PairWhich are all choices of pairs, the most pairs first.
var PairWhich = [...]Which{
	{"all", "any two CPUs", func(m *topology.Machine, cpus cpuset.Set) ([]int, [][2]int) {
		return lowestTwo(m, cpus, func(c topology.CPU) int { return c.CPU })
	}},
	{"per-core", "any two cores, by their lowest CPUs, and two threads of each core", perCore},
	{"per-llc", "any two LLCs, by their lowest CPUs, two cores of each LLC, and two threads of one core", perLLC},
}

func perCore(m *topology.Machine, cpus cpuset.Set) ([]int, [][2]int) {
	return lowestTwo(m, cpus, func(c topology.CPU) int { return c.Core })
}

func perLLC(m *topology.Machine, cpus cpuset.Set) ([]int, [][2]int) {
	cores, siblings := perCore(m, cpus)
	type place struct{ node, llc int } // with sub-NUMA clustering an LLC spans nodes
	each, beside := lowestTwo(m, cpuset.Of(cores...), func(c topology.CPU) place { return place{c.Node, c.LLC} })
	return each, append(beside, siblings[:min(1, len(siblings))]...)
}

// lowestTwo returns the lowest of the CPUs that have a key in common, for each key, and the two lowest where there are
// several.
func lowestTwo[K comparable](m *topology.Machine, cpus cpuset.Set, key func(topology.CPU) K) ([]int, [][2]int) {
	var lowest []int
	var pairs [][2]int
	met := map[K][]int{} // at most two
	for _, c := range m.CPUs {
		if !c.Online || !cpus.Contains(c.CPU) {
			continue
		}
		k := key(c)
		switch same := met[k]; len(same) {
		case 0:
			met[k] = []int{c.CPU}
			lowest = append(lowest, c.CPU)
		case 1:
			met[k] = append(same, c.CPU)
			pairs = append(pairs, [2]int{same[0], c.CPU})
		}
	}
	return lowest, pairs
}

// Count is the number of pairs, without making them: a machine of 8192 CPUs has 33 million.
func (w Which) Count(m *topology.Machine, cpus cpuset.Set) int {
	each, beside := w.choose(m, cpus)
	return len(each)*(len(each)-1)/2 + len(beside)
}

func (w Which) pairs(m *topology.Machine, cpus cpuset.Set) []Pair {
	each, beside := w.choose(m, cpus)
	pairs := make([]Pair, 0, len(each)*(len(each)-1)/2+len(beside))
	add := func(a, b int) { pairs = append(pairs, Pair{a, b, m.Relation(a, b)}) }
	for i, a := range each {
		for _, b := range each[i+1:] {
			add(a, b)
		}
	}
	for _, pair := range beside {
		add(pair[0], pair[1])
	}
	return pairs
}

// Fit shares a budget out among the pairs, each of which is measured so many times; 0 is no limit. Without a choice it
// takes the first of PairWhich that fits.
func Fit(m *topology.Machine, cpus cpuset.Set, which string, budget time.Duration, times int) (PairPlan, error) {
	choices := PairWhich[:]
	if which != "" {
		w, err := lookupPairs(which)
		if err != nil {
			return PairPlan{}, err
		}
		choices = []Which{w}
	}
	if err := two(m, cpus); err != nil {
		return PairPlan{}, err
	}
	for _, w := range choices {
		if each, ok := share(budget, times*w.Count(m, cpus)); ok {
			return PairPlan{w.Name, w.pairs(m, cpus), each}, nil
		}
	}
	return PairPlan{}, tooMany(m, cpus, choices[len(choices)-1], budget, times)
}

// share is the time of each of so many measurements; false when the budget has less than the least for them.
func share(budget time.Duration, measurements int) (each time.Duration, ok bool) {
	if budget == 0 {
		return mostPair, true
	}
	each = budget/time.Duration(measurements) - fixedPair
	return min(each, mostPair), each >= leastPair
}

// tooMany says that a choice's pairs do not fit in the budget, and what would.
func tooMany(m *topology.Machine, cpus cpuset.Set, asked Which, budget time.Duration, times int) error {
	pairs := asked.Count(m, cpus)
	need := AtLeast(pairs, times)
	way := fmt.Sprintf("--budget %v", need)
	for _, w := range PairWhich {
		n := w.Count(m, cpus)
		if _, ok := share(budget, times*n); ok {
			way += fmt.Sprintf(", or --pairs %s (%d pairs, at least %v)", w.Name, n, AtLeast(n, times))
			break
		}
	}
	return hint.With(fmt.Errorf("%d pairs need at least %v, and the budget is %v", pairs, need, budget), way)
}

// AtLeast is the shortest budget for so many pairs, each measured so many times, rounded up to what a person would write.
func AtLeast(pairs, times int) time.Duration {
	need := time.Duration(pairs*times) * (leastPair + fixedPair)
	unit := 10 * time.Millisecond
	if need > time.Second {
		unit = time.Second
	}
	return (need + unit - 1) / unit * unit
}

func lookupPairs(which string) (Which, error) {
	return catalog.Find(PairWhich[:], "choice of pairs", which)
}

// two refuses CPUs that make no pair.
func two(m *topology.Machine, cpus cpuset.Set) error {
	if n := cpus.Intersect(m.Online()).Len(); n < 2 {
		return hint.With(fmt.Errorf("a pair needs two CPUs, and the run has %d", n),
			"give two or more by --cpus; gorun topo shows which are ours")
	}
	return nil
}

// Document returns the plan for JSON.
func (p PairPlan) Document() *result.PlanPairs {
	doc := &result.PlanPairs{
		Which: p.Which, Pairs: len(p.Pairs), Relations: map[string]int{}, Seconds: p.Each.Seconds(),
		Estimate: (time.Duration(len(p.Pairs)) * (p.Each + fixedPair)).Seconds(),
	}
	for _, pair := range p.Pairs {
		doc.Relations[pair.Relation.String()]++
	}
	return doc
}

// Shuffle orders the pairs at random, as the seed has it: neighbours in time shall not be neighbours in place, or a
// disturbance looks like a property of a core.
func Shuffle(pairs []Pair, seed uint64) {
	source := rand.New(rand.NewPCG(seed, 0))
	source.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
}
