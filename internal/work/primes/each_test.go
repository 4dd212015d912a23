package primes

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// sampleEach takes a sample of a cell in which each of the CPUs counts all primes, which change may change.
func sampleEach(ctx context.Context, t *testing.T, cpus cpuset.Set, times int, together bool, change func(*Cell)) (result.Sample, error) {
	t.Helper()
	m, err := topology.Read(os.DirFS("/"))
	require.NoError(t, err)
	c := EachCPU(experiment.Machine{Machine: m, CPUs: cpus}, times, together)
	if change != nil {
		change(&c)
	}
	s, err := Experiment.Open(experiment.Environment{}, []any{c})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	return s.Sample(ctx, c)
}

// Every CPU has a time, whether it counts alone or with the others, and counts all primes.
func TestEachCPU(t *testing.T) {
	cpus := tests.CPUs(t, 1)
	for _, together := range []bool{false, true} {
		for _, times := range []int{1, 8} {
			s, err := sampleEach(t.Context(), t, cpuset.Of(cpus...), times, together, nil)
			require.NoError(t, err)
			assert.True(t, s.Placement.Verified, "%v", s.Placement.Mismatches)
			assert.Empty(t, s.Doubts)
			assert.False(t, s.Partial)
			require.Len(t, s.WorkersDetail, len(cpus))
			for i, w := range s.WorkersDetail {
				assert.Equal(t, cpus[i], w.CPUEnd)
				assert.Equal(t, uint64(times)*eachKnown, w.Primes)
				assert.Equal(t, uint64(times)*eachLimit, w.Numbers)
				assert.Positive(t, w.Seconds)
			}
		}
	}
}

// A CPU that counts another number is named, and has no details.
func TestEachWrong(t *testing.T) {
	cpu := tests.CPUs(t, 1)[0]
	for times, want := range map[int]string{1: "1007 primes up to 8000 instead of 1008", 2: "2014 primes in 2 counts up to 8000 instead of 2016"} {
		s, err := sampleEach(t.Context(), t, cpuset.Of(cpu), times, true, func(c *Cell) { c.Known++ })
		require.NoError(t, err)
		assert.Empty(t, s.WorkersDetail)
		assert.Equal(t, []result.Doubt{{
			Grade: result.Suspect, Wrong: true, Reason: fmt.Sprintf("CPU %d counted %s", cpu, want),
		}}, s.Doubts)
	}
}

// A count that was cut is not wrong, and CPUs that begin together end.
func TestEachCut(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, err := sampleEach(ctx, t, cpuset.Of(tests.CPUs(t, 1)...), 1<<30, true, nil)
	require.NoError(t, err)
	assert.True(t, s.Partial)
	assert.Empty(t, s.Doubts)
}
