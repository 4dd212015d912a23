package c2c

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/experiment"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// The main thread cannot end, so a crew must never have it: its mask would stay. cmd/gorun keeps it for main as well.
func init() { runtime.LockOSThread() }

func TestPingPong(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("threads are pinned on Linux")
	}
	m, err := topology.Read(os.DirFS("/"))
	require.NoError(t, err)
	plan, err := fit(m, m.Allowed(), "per-llc", 0, 1)
	if err != nil {
		t.Skip(err)
	}
	var cells []Cell
	for _, p := range plan.Pairs {
		a, _ := m.CPU(p.A)
		b, _ := m.CPU(p.B)
		cells = append(cells, Cell{
			A: p.A, B: p.B, NodeA: a.Node, NodeB: b.Node, Relation: p.Relation.String(), Each: 5 * time.Millisecond,
		})
	}
	r, err := open(experiment.Setting{}, cells)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	for _, method := range Methods {
		for _, cell := range cells {
			cell.Method = method.Name
			s, err := r.Sample(t.Context(), cell)
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			require.NoError(t, err)
			v, ok := result.Typed[Figures](&s)
			require.True(t, ok)
			assert.True(t, s.Placement.Verified, "%v", s.Placement.Mismatches)
			assert.Positive(t, v.NS)
			assert.InDelta(t, 2*v.NS, v.RoundTripNS, 1e-9)
			assert.Positive(t, v.Batches)
			assert.Equal(t, cell.Relation, v.Relation)
			if len(m.Nodes) > 1 {
				require.NotNil(t, v.HomeNode)
				assert.Equal(t, v.NodeA, *v.HomeNode, "the line is first touched by CPU a")
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	long := cells[0]
	long.Method, long.Each = "cas", time.Minute
	s, err := r.Sample(ctx, long)
	require.NoError(t, err)
	assert.True(t, s.Partial)
}
