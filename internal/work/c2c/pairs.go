package c2c

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// The times per pair.
const (
	leastPair = 2 * time.Millisecond   // round trips: some hundred batches, enough for a median
	mostPair  = 20 * time.Millisecond  // round trips: more would not improve the figure
	fixedPair = 500 * time.Microsecond // overhead: a new line, two threads woken and verified
)

// mostPairs is the largest number of pairs in a run, each with a cell and at least one sample: at 20 ms each that is
// 6 hours, and the pairs of 16,384 CPUs take more memory than most machines have.
const mostPairs = 1 << 20

// pairPlan has the pairs to measure, and the time for each.
type pairPlan struct {
	Which string // a name of topology.Pairings
	Pairs []topology.CPUPair
	Each  time.Duration // duration of the round trips
}

// planPairs divides a budget among the pairs; times is the number of measurements of each, and a budget of 0 is no
// limit. If which is empty it chooses the first of topology.Pairings that fits.
func planPairs(m *topology.Machine, cpus cpuset.Set, which string, budget time.Duration, times float64) (pairPlan, error) {
	choices := topology.Pairings[:]
	if i := slices.Index(catalog.Names(choices), which); i >= 0 {
		choices = choices[i : i+1]
	}
	if n := cpus.Intersect(m.Online()).Len(); n < 2 {
		return pairPlan{}, hint.With(fmt.Errorf("a pair needs two CPUs, and the run has %d", n),
			"give two or more by --cpus; gorun topo shows the CPUs")
	}
	for _, w := range choices {
		if each, ok := share(w.Count(m, cpus), budget, times); ok {
			return pairPlan{w.Name, w.Pairs(m, cpus), each}, nil
		}
	}
	return pairPlan{}, tooMany(m, cpus, choices[len(choices)-1], budget, times)
}

// share returns the time of each measurement of this many pairs; false if they are too many, or the budget is too short for them.
func share(pairs int, budget time.Duration, times float64) (each time.Duration, ok bool) {
	if budget == 0 {
		return mostPair, pairs <= mostPairs
	}
	each = time.Duration(float64(budget)/(times*float64(pairs))) - fixedPair
	return min(each, mostPair), each >= leastPair && pairs <= mostPairs
}

// tooMany returns the error for pairs that do not fit in the budget, with alternatives that do.
func tooMany(m *topology.Machine, cpus cpuset.Set, asked topology.Pairing, budget time.Duration, times float64) error {
	pairs := asked.Count(m, cpus)
	if pairs > mostPairs {
		way := "give fewer --cpus"
		if n := topology.PerLLC.Count(m, cpus); n <= mostPairs {
			way += fmt.Sprintf(", or --pairs %s (%d pairs)", topology.PerLLC.Name, n)
		}
		return hint.With(fmt.Errorf("%d pairs are more than the %d that one run can measure", pairs, mostPairs), way)
	}
	need := shortestBudget(pairs, times)
	way := fmt.Sprintf("--budget %v", need)
	for _, w := range topology.Pairings {
		n := w.Count(m, cpus)
		if _, ok := share(n, budget, times); ok {
			way += fmt.Sprintf(", or --pairs %s (%d pairs, at least %v)", w.Name, n, shortestBudget(n, times))
			break
		}
	}
	each := ""
	if times > 1 {
		each = fmt.Sprintf(", each %.0f times (--samples, --warmup),", times)
	}
	return hint.With(fmt.Errorf("%d pairs%s need at least %v, and the budget is %v", pairs, each, need, budget), way)
}

// shortestBudget returns the shortest budget for a number of pairs with this number of measurements each, rounded up
// to a time that people write.
func shortestBudget(pairs int, times float64) time.Duration {
	need := time.Duration(float64(pairs) * times * float64(leastPair+fixedPair))
	unit := 10 * time.Millisecond
	if need > time.Second {
		unit = time.Second
	}
	return (need + unit - 1) / unit * unit
}

// Document returns the plan for JSON.
func (p pairPlan) Document() *result.PlanPairs {
	doc := &result.PlanPairs{
		Which: p.Which, Pairs: len(p.Pairs), Relations: map[string]int{}, Seconds: p.Each.Seconds(),
		Estimate: (time.Duration(len(p.Pairs)) * (p.Each + fixedPair)).Seconds(),
	}
	for _, pair := range p.Pairs {
		doc.Relations[pair.Relation.String()]++
	}
	return doc
}

// shuffle orders the pairs at random by the seed, so that a temporary disturbance does not look like a property of a
// core.
func shuffle(pairs []topology.CPUPair, seed uint64) {
	source := rand.New(rand.NewPCG(seed, 0))
	source.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
}
