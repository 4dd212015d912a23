package c2c

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render/chart"
	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// place returns the position of a CPU of the fixtures: the second half of the CPUs are the SMT siblings of the first,
// as x86 numbers them; from four CPUs on there are two nodes, and caches of up to four cores.
func place(cpu, cpus int) seat {
	cores := max(1, cpus/2)
	core := cpu % cores
	return seat{cpu: cpu, core: core, llc: core / min(4, max(1, cores/2)), node: core * min(2, cores) / cores}
}

func relationOf(a, b seat) topology.Relation {
	switch {
	case a.core == b.core:
		return topology.SameCore
	case a.node != b.node:
		return topology.CrossNode
	case a.llc == b.llc:
		return topology.SameLLC
	}
	return topology.SameNode
}

// allPairs returns every pair of the first CPUs, with a time that depends on the relation.
func allPairs(cpus int) []measuredPair {
	var pairs []measuredPair
	for a := range cpus {
		for b := a + 1; b < cpus; b++ {
			x, y := place(a, cpus), place(b, cpus)
			relation := relationOf(x, y)
			ns := 10 * float64(relation*relation) * (1 + float64((a*31+b*17)%13)/100)
			pairs = append(pairs, measuredPair{Figures: Figures{
				CPUA: a, CPUB: b, NodeA: x.node, NodeB: y.node, Relation: relation.String(), NS: ns, RoundTripNS: 2 * ns,
			}})
		}
	}
	return pairs
}

// CPUs that share a core or a cache are adjacent, for any order of the pairs and any missing pairs.
func TestSeatsAreByLocality(t *testing.T) {
	for _, cpus := range []int{2, 8, 32, 64} {
		pairs := allPairs(cpus)
		for round := range uint64(4) {
			random := rand.New(rand.NewPCG(round, 0))
			random.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
			order := seats(pairs)
			require.Len(t, order, cpus)
			for _, of := range []func(seat) int{
				func(s seat) int { return s.node },
				func(s seat) int { return 1000*s.node + s.llc },
				func(s seat) int { return 1000*s.node + s.core },
			} {
				seen := map[int]bool{}
				for i, s := range order {
					key := of(place(s.cpu, cpus))
					if i > 0 && key == of(place(order[i-1].cpu, cpus)) {
						continue
					}
					require.False(t, seen[key], "%d CPUs: %v", cpus, order)
					seen[key] = true
				}
			}
		}
	}
	partial := seats([]measuredPair{
		{Figures: Figures{CPUA: 3, CPUB: 0, Relation: "same-llc"}},
		{Figures: Figures{CPUA: 1, CPUB: 2}},
	})
	assert.Equal(t,
		[]seat{
			{cpu: 0},
			{cpu: 3, core: 3},
			{cpu: 1, llc: 1, core: 1},
			{cpu: 2, llc: 2, core: 2},
		}, partial)
}

// A page of 80 columns has room for the digits of 64 CPUs; for more, a summary says where the map is.
func TestMapBlock(t *testing.T) {
	block := func(cpus int) string {
		run := &result.Run{}
		for _, p := range allPairs(cpus) {
			s := result.Sample{Values: result.FiguresOf(&p.Figures)}
			s.Quality.Verdict = result.Valid
			run.Samples = append(run.Samples, s)
		}
		return mapBlock(run, nil, term.Options{})
	}
	assert.Contains(t, block(64), "One way, in ns, by CPU")
	assert.Contains(t, block(128), "A map of 128 CPUs is too wide for this page")
	assert.Empty(t, block(1))
}

// A journal cannot make a map take all memory.
func TestHeatOfTooManyCPUs(t *testing.T) {
	var many []measuredPair
	for i := range chart.MapLimit {
		many = append(many, measuredPair{Figures: Figures{CPUA: 2 * i, CPUB: 2*i + 1, NS: 1}})
	}
	assert.Empty(t, heatOf(many).Rows)
}
