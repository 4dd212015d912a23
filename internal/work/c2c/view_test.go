package c2c

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
	"gorun/internal/show/chart"
	"gorun/internal/show/term"
)

// allPairs returns every pair of a machine's CPUs.
func allPairs(m *topology.Machine) (pairs []Figures) {
	for _, p := range topology.Pairings[0].Pairs(m, m.Online()) {
		pairs = append(pairs, Figures{
			CPUA: p.A, CPUB: p.B, NodeA: m.NodeOf(p.A), NodeB: m.NodeOf(p.B), Relation: p.Relation.String(), NS: 10,
		})
	}
	return pairs
}

// CPUs that share a core or a cache are adjacent, for any order of the pairs and any missing pairs.
func TestSeatsAreByLocality(t *testing.T) {
	for _, host := range []string{"qemu-cpu2", "qemu-epyc8smt", "epyc-2p-nps4"} {
		m := hosts.Machine(t, host)
		pairs := allPairs(m)
		for round := range uint64(4) {
			random := rand.New(rand.NewPCG(round, 0))
			random.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
			order := seats(pairs)
			require.Len(t, order, m.Online().Len())
			for _, of := range []func(topology.CPU) int{
				func(c topology.CPU) int { return c.Node },
				func(c topology.CPU) int { return c.LLC },
				func(c topology.CPU) int { return c.Core },
			} {
				seen, last := map[int]bool{}, -1
				for _, s := range order {
					c, _ := m.CPU(s.cpu)
					require.False(t, of(c) != last && seen[of(c)], "%s: %v", host, order)
					last = of(c)
					seen[last] = true
				}
			}
		}
	}
	partial := seats([]Figures{{CPUA: 0, CPUB: 3, Relation: "same-llc"}, {CPUA: 1, CPUB: 2}})
	assert.Equal(t, []seat{{cpu: 0}, {cpu: 3, core: 3}, {cpu: 1, llc: 1, core: 1}, {cpu: 2, llc: 2, core: 2}}, partial)
}

// A map that is too wide for a page is named, and no journal can make a map take all memory.
func TestTooManyCPUs(t *testing.T) {
	run := &result.Run{}
	for i := range chart.MapLimit {
		run.Samples.Append(&result.Sample{Values: result.FiguresOf(&Figures{CPUA: 2 * i, CPUB: 2*i + 1, NS: 1})})
	}
	assert.Empty(t, heatOf(measuredPairs(run.Samples)).Rows)
	assert.Contains(t, mapBlock(run, term.Options{}), "A map of 512 CPUs is too wide for this page")
}
