package c2c

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/experiment"
	"gorun/internal/result"
	"gorun/internal/tests"
	"gorun/internal/topology"
)

// planned returns this machine and the pairs of one CPU of each last-level cache.
func planned(t *testing.T) (*topology.Machine, pairPlan) {
	tests.CPUs(t, 2)
	m, err := topology.Read(os.DirFS("/"))
	require.NoError(t, err)
	plan, err := planPairs(m, m.Allowed(), "per-llc", 0, 1)
	require.NoError(t, err)
	return m, plan
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
	m, plan := planned(t)
	a, _ := m.CPU(plan.Pairs[0].A)
	b, _ := m.CPU(plan.Pairs[0].B)
	cell := Cell{
		A: a.CPU, B: b.CPU, NodeA: a.Node, NodeB: b.Node, Relation: plan.Pairs[0].Relation.String(), Method: "cas",
		Each: time.Millisecond,
	}
	r, err := open(experiment.Setting{}, []Cell{cell})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	for _, node := range m.Nodes {
		if !node.HasMemory() {
			continue
		}
		cell.MemNode = node.Node
		s, v := sampled(t, r, cell)
		assert.Contains(t, s.Placement.Requested, fmt.Sprintf("the line on node %d", node.Node))
		assert.Equal(t, &node.Node, v.MemNode)
		if v.HomeNode != nil || len(m.Nodes) > 1 {
			assert.Equal(t, &node.Node, v.HomeNode)
		}
	}
}

func TestPingPong(t *testing.T) {
	m, plan := planned(t)
	var cells []Cell
	for _, p := range plan.Pairs {
		a, _ := m.CPU(p.A)
		b, _ := m.CPU(p.B)
		cells = append(cells, Cell{
			A: p.A, B: p.B, NodeA: a.Node, NodeB: b.Node, Relation: p.Relation.String(), Each: time.Millisecond,
			MemNode: firstTouch,
		})
	}
	r, err := open(experiment.Setting{}, cells)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	for i, method := range Methods {
		seen := map[string]bool{} // a machine may have many pairs: one for each relation and, by the first method, node
		for _, cell := range cells {
			kind := cell.Relation
			if i == 0 {
				kind += fmt.Sprint(" of node ", cell.NodeA)
			}
			if seen[kind] {
				continue
			}
			seen[kind] = true
			cell.Method = method.Name
			_, v := sampled(t, r, cell)
			assert.Positive(t, v.NS)
			assert.InDelta(t, 2*v.NS, v.RoundTripNS, 1e-9)
			assert.Positive(t, v.Batches)
			assert.Equal(t, cell.Relation, v.Relation)
			if len(m.Nodes) > 1 {
				require.NotNil(t, v.HomeNode)
				for _, n := range m.Nodes { // for a node without memory, the kernel uses another node's
					if n.Node == v.NodeA && n.HasMemory() {
						assert.Equal(t, v.NodeA, *v.HomeNode, "the line is first touched by CPU a")
					}
				}
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond) // at any moment
	defer cancel()
	long := cells[0]
	long.Method, long.Each = "cas", time.Minute // the longest that there is memory for
	s, err := r.Sample(ctx, long)
	require.NoError(t, err)
	assert.True(t, s.Partial)
}
