package futex

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/dev/tests/hosts"
	"gorun/internal/experiment"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

func resolve(t *testing.T, m *topology.Machine, cpus ...string) experiment.Resolution[Cell] {
	t.Helper()
	f := flags{roundTrips: 7}
	require.NoError(t, f.Arguments(cpus))
	r, err := f.Resolve(experiment.Machine{
		Machine: m, CPUs: m.Allowed(), Sampling: Experiment.Sampling, Given: func(string) bool { return false },
	})
	require.NoError(t, err)
	return r
}

// There is a cell for each relation. If no two CPUs have a relation, its cell is lacking, with a warning.
func TestResolve(t *testing.T) {
	r := resolve(t, hosts.Machine(t, "qemu-epyc8smt"))
	var pairs []string
	for i, cell := range r.Cells {
		assert.Equal(t, topology.Relations[i].String(), cell.Name)
		pairs = append(pairs, cell.Flags["pair"]+cell.Unavailable)
	}
	assert.Equal(t, []string{"0,0", "0,1", "no last-level cache has two cores of the CPUs", "0,2", "0,4"}, pairs)
	assert.Equal(t, 1, r.Cells[0].CPUs["pair"].Count, "one CPU twice")
	require.Len(t, r.Warnings, 1)
}

func TestResolveOne(t *testing.T) {
	m := hosts.Machine(t, "qemu-numa2")
	r := resolve(t, m, "5", "0")
	require.Len(t, r.Cells, 1)
	assert.Equal(t, Cell{A: 5, B: 0, Relation: "cross-node", RoundTrips: 7}, r.Cells[0].Do)
}

// ours is a cell on this machine, on the same CPU or on two.
func ours(t *testing.T, apart bool) Cell {
	t.Helper()
	cpus, err := linux.GetAffinity(0)
	require.NoError(t, err)
	c := Cell{A: cpus.First(), B: cpus.First(), RoundTrips: 50}
	if c.B = cpus.Last(); !apart {
		c.B = c.A
	}
	return c
}

func TestSample(t *testing.T) {
	for _, apart := range []bool{false, true} {
		c := ours(t, apart)
		s, err := sample(t.Context(), experiment.Environment{}, c)
		require.NoError(t, err)
		assert.False(t, s.Partial)
		assert.True(t, s.Placement.Verified, "%v", s.Placement.Mismatches)
		v, ok := result.Typed[Figures](&s)
		require.True(t, ok)
		assert.Equal(t, []int{c.A, c.B, 50}, []int{v.CPUA, v.CPUB, v.RoundTrips})
		assert.Positive(t, v.WakeNS)
		assert.LessOrEqual(t, v.WakeNS, v.WakeP99NS)
		assert.Less(t, v.WakeNS/1e9, s.Seconds)
	}
}

// An interrupt ends a sample soon, before its threads have begun or while they run.
func TestInterrupt(t *testing.T) {
	for _, after := range []time.Duration{0, 5 * time.Millisecond} {
		for _, apart := range []bool{false, true} {
			c := ours(t, apart)
			c.RoundTrips = mostTrips
			tests.Await(t, "partial sample", func() bool { // on a busy machine the interrupt may come after the sample
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					tests.Pause(after)
					cancel()
				}()
				s, err := sample(ctx, experiment.Environment{}, c)
				require.NoError(t, err)
				v, _ := result.Typed[Figures](&s)
				return s.Partial && v.RoundTrips < mostTrips
			})
		}
	}
}

// A CPU that a thread cannot use is an error, and the other thread does not wait for it.
func TestSampleNowhere(t *testing.T) {
	c := ours(t, false)
	c.B = 8191
	_, err := sample(t.Context(), experiment.Environment{}, c)
	require.Error(t, err)
}
