package process

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/result"
)

func trial(cpus []int, bound bool) BindRequest {
	return BindRequest{Processes: 5, CPUs: cpus, Bound: bound, Trial: 3, Checks: 10_000, ArrayBytes: 8 * 1001, Passes: 7}
}

func TestMeasureBind(t *testing.T) {
	cpus := ours(t).List()
	for _, bound := range []bool{true, false} {
		r := trial(cpus, bound)
		samples, err := r.measure(t.Context(), self(asBound), func(pids []int) error {
			for i, pid := range pids {
				want := cpuset.Of(cpus...)
				if bound {
					want = cpuset.Of(cpus[i%len(cpus)])
				}
				requireAffinity(t, pid, want)
			}
			return nil
		})
		require.NoError(t, err)
		require.Len(t, samples, r.Processes)
		for i, s := range samples {
			v, ok := result.Typed[result.BindProcess](&s)
			require.True(t, ok)
			assert.False(t, s.Partial)
			assert.Positive(t, s.Seconds)
			assert.True(t, s.Placement.Verified)
			want := result.BindProcess{
				Process: i, Trial: 3, Bound: bound, CPU: -1, Checks: r.Checks, MovedTo: map[string]uint64{},
				ArrayBytes: 8008, Passes: 7,
			}
			if bound {
				want.CPU = cpus[i%len(cpus)]
				assert.Equal(t, 10_000, s.Placement.Checked)
			} else {
				moved := uint64(0)
				for cpu, count := range v.MovedTo {
					moved += count
					n, err := strconv.Atoi(cpu)
					require.NoError(t, err)
					assert.Contains(t, cpus, n)
				}
				assert.Equal(t, v.Deviations, moved)
				want.Deviations, want.MovedTo = v.Deviations, v.MovedTo
				assert.Equal(t, "none", s.Placement.Requested)
			}
			assert.Equal(t, want, *v)
		}
	}
}

// A process that is taken off its CPU behind its back is caught.
func TestMeasureBindUnbound(t *testing.T) {
	cpus := ours(t)
	if cpus.Len() < 2 {
		t.Skip("there is no other CPU to go to")
	}
	const victim = 1
	r := trial([]int{cpus.First()}, true)
	samples, err := r.measure(t.Context(), self(asBound), func(pids []int) error {
		return move(pids[victim], cpus.Last())
	})
	require.NoError(t, err)
	for i, s := range samples {
		v, ok := result.Typed[result.BindProcess](&s)
		require.True(t, ok)
		assert.Equal(t, i != victim, s.Placement.Verified)
		if i != victim {
			assert.Zero(t, v.Deviations)
			assert.Empty(t, v.MovedTo)
			continue
		}
		assert.Equal(t, r.Checks, v.Deviations)
		assert.Equal(t, map[string]uint64{strconv.Itoa(cpus.Last()): r.Checks}, v.MovedTo)
		assert.Equal(t, []string{
			fmt.Sprintf("process 1 was not on CPU %d in 10000 of 10000 looks", cpus.First()),
		}, s.Placement.Mismatches)
	}
}

// move moves all threads of a process.
func move(pid, cpu int) error {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return err
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err == nil {
			err = linux.SetAffinity(tid, cpuset.Of(cpu))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func TestMeasureBindCutShort(t *testing.T) {
	cpus := ours(t).List()
	r := trial(cpus, true)
	r.Checks = 1 << 50
	ctx, cancel := context.WithCancel(t.Context())
	samples, err := r.measure(ctx, self(asBound), func([]int) error {
		cancel()
		return nil
	})
	require.NoError(t, err)
	require.Len(t, samples, r.Processes)
	for _, s := range samples {
		assert.True(t, s.Partial)
	}
}

func TestMeasureBindErrors(t *testing.T) {
	for _, change := range []func(*BindRequest){
		func(r *BindRequest) { r.Processes = 0 },
		func(r *BindRequest) { r.CPUs = nil },
		func(r *BindRequest) { r.ArrayBytes = 7 },
		func(r *BindRequest) { r.Passes = 0 },
	} {
		r := trial([]int{0}, true)
		change(&r)
		_, err := MeasureBind(t.Context(), self(asBound), r)
		assert.ErrorContains(t, err, "nothing to measure")
	}
}

// A sum that is wrong is not a measurement.
func TestBindSampleSum(t *testing.T) {
	r := BindRequest{CPUs: []int{0}, ArrayBytes: 8 * 4, Passes: 3}
	_, err := r.sample(0, bindAnswer{Loops: 12, Sum: 18})
	require.NoError(t, err)
	_, err = r.sample(0, bindAnswer{Loops: 12, Sum: 19})
	require.EqualError(t, err, "process 0: the words add up to 19, and are to be 18")
}

func TestBindOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trials, seed := rapid.IntRange(0, 50).Draw(t, "trials"), rapid.Uint64().Draw(t, "seed")
		order := BindOrder(trials, seed)
		assert.Len(t, order, 2*trials)
		for pair := range slices.Chunk(order, 2) {
			assert.NotEqual(t, pair[0], pair[1])
		}
		assert.Equal(t, order, BindOrder(trials, seed))
	})
	first := map[bool]int{}
	for pair := range slices.Chunk(BindOrder(1000, 1), 2) {
		first[pair[0]]++
	}
	assert.Greater(t, first[true], 400)
	assert.Greater(t, first[false], 400)
}
