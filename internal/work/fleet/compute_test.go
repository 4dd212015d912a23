package fleet

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
)

// Every CPU has a time, whether it computes alone or with the others.
func TestCompute(t *testing.T) {
	cpus := tests.CPUs(t, 1)
	for _, row := range battery {
		if row.compute == nil {
			continue
		}
		c, err := newComputer(*row.compute, cpuset.Of(cpus...))
		require.NoError(t, err)
		s, figures, err := c.take(t.Context())
		require.NoError(t, err)
		assert.True(t, s.Placement.Verified, "%v", s.Placement.Mismatches)
		assert.Empty(t, s.Doubts)
		assert.Len(t, figures, len(cpus))
		assert.Positive(t, figures[0])
	}
}

// A CPU that counts another number is named, and has no figure.
func TestComputeWrong(t *testing.T) {
	cpu := tests.CPUs(t, 1)[0]
	c, err := newComputer(computation{repeats: 2}, cpuset.Of(cpu))
	require.NoError(t, err)
	c.want++
	s, figures, err := c.take(t.Context())
	require.NoError(t, err)
	assert.Empty(t, figures)
	require.Len(t, s.Doubts, 1)
	assert.True(t, s.Doubts[0].Wrong)
	assert.Equal(t, fmt.Sprintf("CPU %d counted 1007 primes up to 8000 instead of 1008", cpu), s.Doubts[0].Reason)
}

// A count that was cut is not wrong, and CPUs that wait for each other end.
func TestComputeCut(t *testing.T) {
	cpus := tests.CPUs(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, err := newComputer(computation{repeats: 1 << 30, together: true}, cpuset.Of(cpus...))
	require.NoError(t, err)
	s, figures, err := c.take(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, figures)
	assert.Empty(t, s.Doubts)
}

// A CPU that the visit may not use is an error, for which the others do not wait.
func TestComputeRefused(t *testing.T) {
	c, err := newComputer(computation{repeats: 1, together: true}, cpuset.Of(tests.CPUs(t, 1)[0], 1<<12))
	require.NoError(t, err)
	_, figures, err := c.take(t.Context())
	require.Error(t, err)
	assert.Empty(t, figures)
}
