package bind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
	"gorun/internal/start/process"
	"gorun/internal/start/process/processtest"
)

func TestMain(m *testing.M) {
	processtest.Main(m, map[string]func(context.Context) error{
		process.Command: func(ctx context.Context) error { return process.Work(ctx, os.Stdin, os.Stdout) },
	})
}

// each returns a mask of each CPU.
func each(cpus []int) (masks []cpuset.Set) {
	for _, cpu := range cpus {
		masks = append(masks, cpuset.Of(cpu))
	}
	return masks
}

func trial(cpus []int, bound bool) Cell {
	return Cell{Processes: 5, Masks: each(cpus), Bound: bound, Checks: 10_000, ArrayBytes: 8 * 1001, Passes: 7}
}

func TestMeasure(t *testing.T) {
	cpus := processtest.CPUs(t).List()
	for _, bound := range []bool{true, false} {
		r := trial(cpus, bound)
		s, err := r.measure(t.Context(), processtest.Self(), func(pids []int) error {
			for i, pid := range pids {
				want := cpuset.Of(cpus...)
				if bound {
					want = cpuset.Of(cpus[i%len(cpus)])
				}
				processtest.RequireAffinity(t, pid, want)
			}
			return nil
		})
		require.NoError(t, err)
		v, ok := result.Typed[Figures](&s)
		require.True(t, ok)
		require.Len(t, v.Processes, r.Processes)
		assert.False(t, s.Partial)
		assert.True(t, s.Placement.Verified)
		assert.Equal(t, bound, v.Bound)
		assert.Equal(t, []uint64{50_000, 8008, 7}, []uint64{v.Checks, v.ArrayBytes, v.Passes})
		if bound {
			assert.Greater(t, s.Placement.Checked, 50_000, "looks at the CPU, and read-backs")
		} else {
			assert.Equal(t, "none", s.Placement.Requested)
		}
		var sum, user, system float64
		deviations := uint64(0)
		for i, p := range v.Processes {
			assert.Equal(t, i, p.Process)
			assert.Equal(t, r.Checks, p.Checks)
			assert.False(t, p.Partial)
			assert.Positive(t, p.Seconds)
			sum, user, system = sum+p.Seconds, user+p.UserSeconds, system+p.SystemSeconds
			deviations += p.Deviations
			if bound {
				assert.Equal(t, cpus[i%len(cpus)], p.CPU)
				assert.Empty(t, p.MovedTo)
				continue
			}
			assert.Equal(t, -1, p.CPU)
			moved := uint64(0)
			for cpu, count := range p.MovedTo {
				moved += count
				assert.Contains(t, cpus, cpu)
			}
			assert.Equal(t, p.Deviations, moved)
		}
		assert.Equal(t, deviations, v.Deviations)
		assert.InEpsilon(t, sum/5, s.Seconds, 1e-9, "the mean of the processes'")
		assert.Equal(t, []float64{user, system}, []float64{s.UserSeconds, s.SystemSeconds})
	}
}

// A process that another program moves off its CPU is detected.
func TestMeasureBindUnbound(t *testing.T) {
	cpus := processtest.CPUs(t)
	tests.CPUs(t, 2)
	const victim = 1
	r := trial([]int{cpus.First()}, true)
	s, err := r.measure(t.Context(), processtest.Self(), func(pids []int) error {
		return move(pids[victim], cpus.Last())
	})
	require.NoError(t, err)
	v, ok := result.Typed[Figures](&s)
	require.True(t, ok)
	for i, p := range v.Processes {
		if i != victim {
			assert.Zero(t, p.Deviations)
			assert.Empty(t, p.MovedTo)
			continue
		}
		assert.Equal(t, r.Checks, p.Deviations)
		assert.Equal(t, map[int]uint64{cpus.Last(): r.Checks}, p.MovedTo)
	}
	assert.False(t, s.Placement.Verified)
	assert.Equal(t, []string{
		fmt.Sprintf("process 1: asked for CPUs %d, the kernel answers CPUs %d", cpus.First(), cpus.Last()),
		fmt.Sprintf("process 1 was not on CPU %d in 10000 of 10000 checks", cpus.First()),
	}, s.Placement.Mismatches)
}

// move moves all threads of a process to a CPU.
func move(pid, cpu int) error {
	tids, err := linux.TasksOf(pid)
	for _, tid := range tids {
		err = errors.Join(err, linux.SetAffinity(tid, cpuset.Of(cpu)))
	}
	return err
}

func TestMeasureBindCutShort(t *testing.T) {
	cpus := processtest.CPUs(t).List()
	r := trial(cpus, true)
	r.Checks = 1 << 50
	ctx, cancel := context.WithCancel(t.Context())
	s, err := r.measure(ctx, processtest.Self(), func([]int) error {
		cancel()
		return nil
	})
	require.NoError(t, err)
	assert.True(t, s.Partial)
	v, ok := result.Typed[Figures](&s)
	require.True(t, ok)
	require.Len(t, v.Processes, r.Processes)
	for _, p := range v.Processes {
		assert.True(t, p.Partial)
	}
}

func sumOf(loops, sum uint64) process.Answer {
	return process.Answer{Worked: csrc.WorkResult{Loops: loops, Sum: sum}}
}

// A wrong sum makes the sample an error.
func TestBindSampleSum(t *testing.T) {
	r := Cell{Masks: each([]int{0}), ArrayBytes: 8 * 4, Passes: 3}
	_, err := r.sample(process.Done{Answers: []process.Answer{sumOf(12, 18)}})
	require.NoError(t, err)
	_, err = r.sample(process.Done{Answers: []process.Answer{sumOf(12, 18), sumOf(12, 19)}})
	require.EqualError(t, err, "process 1: the sum of the words is 19 instead of 18")
}

// Bound and unbound come first equally often, also in a part of the run, and every order of four pairs occurs.
func TestOrderIsBalanced(t *testing.T) {
	firsts := func(order []bool) (first []bool) {
		for pair := range slices.Chunk(order, 2) {
			first = append(first, pair[0])
		}
		return first
	}
	bound := func(first []bool) (n int) {
		for _, is := range first {
			if is {
				n++
			}
		}
		return n
	}
	orders, odd := map[string]int{}, 0
	for seed := range uint64(300) {
		for block := range slices.Chunk(firsts(Order(10, seed)), 4) {
			require.Equal(t, len(block)/2, bound(block))
			if len(block) == 4 {
				orders[fmt.Sprint(block)]++
			}
		}
		odd += bound(firsts(Order(7, seed))) - 3
	}
	assert.Len(t, orders, 6, "four over two")
	for order, times := range orders {
		assert.InDelta(t, 100, times, 40, order) // the standard deviation is 9
	}
	assert.InDelta(t, 150, odd, 60, "the last of an odd number is left to chance")
}
