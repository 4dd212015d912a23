package c2c

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/experiment"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// thisMachine reads the machine that the tests run on, which has two CPUs for them.
func thisMachine(t *testing.T) *topology.Machine {
	tests.CPUs(t, 2)
	m, err := topology.Read(os.DirFS("/"))
	require.NoError(t, err)
	return m
}

// opened returns short cells of a machine, one for each relation, and their sampler.
func opened(t *testing.T, m *topology.Machine, f flags) (cells []Cell, r experiment.Sampler[Cell]) {
	f.pairs = "per-llc"
	seen := map[string]bool{}
	for _, c := range resolve(t, f, m, m.Allowed(), experiment.Sampling{}).Cells {
		if c.Do.Each = time.Millisecond; !seen[c.Do.Relation] {
			seen[c.Do.Relation] = true
			cells = append(cells, c.Do)
		}
	}
	r, err := open(experiment.Environment{}, cells)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return cells, r
}

// sampled takes a sample of a cell, whose placement is as requested.
func sampled(t *testing.T, r experiment.Sampler[Cell], cell Cell) (result.Sample, *Figures) {
	s, err := r.Sample(t.Context(), cell)
	require.NoError(t, err)
	v, ok := result.Typed[Figures](&s)
	require.True(t, ok)
	assert.True(t, s.Placement.Verified, "%v", s.Placement.Mismatches)
	return s, v
}

// The line is on the requested node, whichever CPUs use it.
func TestPingPongMemNode(t *testing.T) {
	m := thisMachine(t)
	for node := range m.MemoryNodes().All() {
		cells, r := opened(t, m, flags{method: "cas", memNode: strconv.Itoa(node)})
		s, v := sampled(t, r, cells[0])
		assert.Contains(t, s.Placement.Requested, "the line on node "+strconv.Itoa(node))
		assert.Equal(t, &node, v.MemNode)
		if v.HomeNode != nil || len(m.Nodes) > 1 {
			assert.Equal(t, &node, v.HomeNode)
		}
	}
}

func TestPingPong(t *testing.T) {
	m := thisMachine(t)
	for _, method := range Methods {
		cells, r := opened(t, m, flags{method: method.Name})
		for _, cell := range cells {
			_, v := sampled(t, r, cell)
			assert.Positive(t, v.NS)
			assert.InDelta(t, 2*v.NS, v.RoundTripNS, 1e-9)
			assert.Positive(t, v.Batches)
			assert.Equal(t, cell.Relation, v.Relation)
			if len(m.Nodes) > 1 && m.MemoryNodes().Contains(v.NodeA) { // unless that node has no page left at the moment
				tests.Await(t, fmt.Sprintf("line that CPU %d touched first on its node %d", v.CPUA, v.NodeA), func() bool {
					_, v = sampled(t, r, cell)
					return v.HomeNode != nil && *v.HomeNode == v.NodeA
				})
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond) // at any moment
		long := cells[0]
		long.Each = time.Minute // the longest that there is memory for
		s, err := r.Sample(ctx, long)
		cancel()
		require.NoError(t, err)
		assert.True(t, s.Partial)
	}
}
