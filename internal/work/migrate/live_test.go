package migrate

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/dev/tests"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
)

// ours is a cell on the first of our CPUs, or between the first and the last.
func ours(t *testing.T, apart bool) Cell {
	t.Helper()
	cpus := allowed(t)
	c := Cell{
		A: cpus.First(), B: cpus.First(), Every: 100 * time.Microsecond, Moves: 6, WorkingSet: 16 << 10, Access: sequential,
	}
	if apart {
		tests.CPUs(t, 2)
		c.B = cpus.Last()
	}
	return c
}

func allowed(t *testing.T) cpuset.Set {
	t.Helper()
	cpus, err := linux.GetAffinity(0)
	require.NoError(t, err)
	return cpus
}

func takeSample(t *testing.T, c Cell) (s result.Sample, v Figures) {
	t.Helper()
	s, err := sample(t.Context(), experiment.Environment{}, c)
	require.NoError(t, err)
	figures, ok := result.Typed[Figures](&s)
	require.True(t, ok)
	return s, *figures
}

func TestSampleThisMachine(t *testing.T) {
	for _, apart := range []bool{false, true} {
		t.Run(map[bool]string{false: "one CPU", true: "two CPUs"}[apart], func(t *testing.T) {
			before := allowed(t)
			for _, access := range csrc.MemoryAccesses() {
				c := ours(t, apart)
				c.Access = access
				s, v := takeSample(t, c)
				assert.False(t, s.Partial)
				assert.True(t, s.Placement.Verified, "%v", s.Placement.Mismatches)
				assert.GreaterOrEqual(t, s.Placement.Checked, 2*6+2*(calls+1))
				assert.Equal(t, []int{c.A, c.B, 6}, []int{v.CPUA, v.CPUB, v.Moves})
				assert.Positive(t, v.Accesses)
				assert.Positive(t, v.SteadyA)
				assert.Positive(t, v.SteadyB)
				assert.GreaterOrEqual(t, s.Seconds, 6*c.Every.Seconds())
				assert.InDelta(t, *v.Move+*v.Refill, *v.Cost, 1e-15)
				assert.Positive(t, *v.Call)
				assert.EqualValues(t, 16<<10, v.RefillBytes)
			}
			assert.Equal(t, before.String(), allowed(t).String(), "the thread that was moved has ended")
		})
	}
}

// A working set that no pass fits into the time for is refilled as far as it was reached.
func TestSampleLarge(t *testing.T) {
	c := ours(t, false)
	c.WorkingSet, c.Every, c.Moves = 4<<20, time.Nanosecond, 3 // one piece after each move
	_, v := takeSample(t, c)
	assert.Positive(t, v.RefillBytes)
	assert.Less(t, v.RefillBytes, c.WorkingSet)
}

func TestSampleNode(t *testing.T) {
	c := ours(t, false)
	c.MemNode = new(0)
	s, v := takeSample(t, c)
	assert.True(t, s.Placement.Verified, "%v", s.Placement.Mismatches)
	if v.MemoryNode != nil {
		assert.Zero(t, *v.MemoryNode)
	}
	v.MemoryNode = nil
	c.checkNodes(&s, &v, map[int]int{0: 4}, map[int]int{0: 3, 1: 1}, nil)
	assert.Contains(t, s.Placement.Mismatches, "not all of the memory is on node 0, as was asked")
	assert.Contains(t, s.Doubts[0].Reason, "moved some of the memory")
	assert.Zero(t, *v.MemoryNode)
}

// A look that finds the thread elsewhere is a mismatch, which makes the sample invalid.
func TestCheckCPUs(t *testing.T) {
	var s result.Sample
	checkCPUs(&s, csrc.MigrateResult{Looks: 5})
	assert.Empty(t, s.Placement.Mismatches)
	checkCPUs(&s, csrc.MigrateResult{Looks: 5, Elsewhere: 2, Asked: 1, Seen: 3})
	assert.Equal(t, []string{"the thread was on CPU 3 and was asked to CPU 1, in 2 of 5 looks"}, s.Placement.Mismatches)
	assert.Equal(t, 10, s.Placement.Checked)
}

// An interrupt ends a sample soon, before its moves have begun or while they go on.
func TestInterrupt(t *testing.T) {
	for _, after := range []time.Duration{0, 20 * time.Millisecond} {
		c := ours(t, false)
		c.Every, c.Moves = time.Hour, 1000
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			tests.Pause(after)
			cancel()
		}()
		s, err := sample(ctx, experiment.Environment{}, c)
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			continue
		}
		assert.True(t, s.Partial)
		v, _ := result.Typed[Figures](&s)
		assert.Less(t, v.Moves, 1000)
	}
}

// A CPU that a thread cannot have is an error.
func TestSampleNowhere(t *testing.T) {
	c := ours(t, false)
	c.B = 8191
	_, err := sample(t.Context(), experiment.Environment{}, c)
	require.Error(t, err)
	c.A = 8191
	_, err = sample(t.Context(), experiment.Environment{}, c)
	require.Error(t, err)
}
