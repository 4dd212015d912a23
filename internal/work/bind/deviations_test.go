package bind

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/start/process"
	"gorun/internal/stats"
)

// bindRun returns a run with two processes in each trial, whose mean in trial i is unbound(i) and bound(i).
func bindRun(t require.TestingT, rounds int, unbound, bound func(trial int) float64) *result.Run {
	run := &result.Run{
		Matrix: &result.Matrix{
			Alpha: 0.05, Margin: 0.02, Precision: 0.02, Order: result.Order{Design: result.Pairs},
		},
		Cells: make([]result.Cell, 2),
	}
	for trial := range rounds {
		for cell, mean := range [...]func(int) float64{Unbound: unbound, Bound: bound} {
			took := func(seconds float64) process.Answer {
				return process.Answer{Checked: csrc.ChecksResult{Checks: 100}, Worked: csrc.WorkResult{EndNS: int64(math.Round(1e9 * seconds))}}
			}
			c := Cell{Masks: each([]int{4, 7}), Bound: cell == Bound, Checks: 100, Passes: 1}
			s, err := c.sample(process.Done{Answers: []process.Answer{took(0.5 * mean(trial)), took(1.5 * mean(trial))}})
			require.NoError(t, err)
			measure.Judge(&s, 2)
			s.Index = run.Samples.Len()
			s.Slot = &result.Slot{Cell: cell, Round: trial, Elapsed: 0.2 * float64(run.Samples.Len()+1)}
			run.Samples.Append(&s)
		}
	}
	return run
}

func steady(seconds float64) func(int) float64 { return func(int) float64 { return seconds } }

// deviate gives a process of a trial deviations.
func deviate(t *testing.T, run *result.Run, trial, process int, moved map[int]uint64) {
	s := run.Samples.At(trial)
	figures, ok := result.Typed[Figures](s)
	require.True(t, ok)
	v := *figures
	v.Processes = slices.Clone(v.Processes)
	p := &v.Processes[process]
	p.MovedTo = moved
	for _, count := range moved {
		p.Deviations += count
		v.Deviations += count
	}
	s.Values = result.FiguresOf(&v)
	if v.Bound {
		s.Placement.Verified, s.Placement.Mismatches = false, []string{"process 1 was elsewhere"}
		measure.Judge(s, 2)
	}
	run.Samples = run.Samples.Map(func(i int, other *result.Sample) {
		if i == trial {
			*other = *s
		}
	})
}

// A bound process that left its CPU makes the verdict invalid; an unbound one that moved does not.
func TestDeviations(t *testing.T) {
	run := bindRun(t, 10, steady(1), steady(0.5))
	found := deviations(run.Samples)
	require.Len(t, found, 2)
	assert.Equal(t, result.Finding{
		Code: "deviations-unbound", Message: "Unbound, every process stayed on its CPU, in all of 2000 checks.",
	}, found[0])
	assert.Equal(t, "Bound, every process was on its CPU, in all of 2000 checks.", found[1].Message)
	assert.Empty(t, deviations(result.Samples{}))

	deviate(t, run, 0, 0, map[int]uint64{4: 2, 7: 1})
	deviate(t, run, 2, 1, map[int]uint64{7: 1})
	figures, err := matrix.Comparands(run, nil)
	require.NoError(t, err)
	matrix.JudgePairs(run, figures)
	assert.Equal(t, stats.Faster, run.Cells[Bound].Verdict.Kind)
	assert.Equal(t, result.Finding{
		Code: "deviations-unbound", Value: 4,
		Message: "Unbound, a process was on another CPU than at the previous check in 4 of 2000 checks, 2 of 20 processes at" +
			" least once: 2 to CPU 4, 2 to CPU 7.",
	}, deviations(run.Samples)[0])

	deviate(t, run, 1, 1, map[int]uint64{7: 100})
	matrix.JudgePairs(run, figures)
	found = deviations(run.Samples)
	assert.Equal(t, 9, run.Cells[Bound].Verdict.Rounds, "a trial in which a bound process was elsewhere is not judged")
	assert.Equal(t, 9, run.Cells[Bound].Summary.Samples)
	assert.Equal(t, "Bound, a process was not on its CPU in 100 of 2000 checks, 1 of 20 processes at least once: 100 on CPU 7.",
		found[1].Message)
	assert.EqualValues(t, 100, found[1].Value)
}

func TestPlacesAreBounded(t *testing.T) {
	moved := map[int]uint64{}
	for cpu := range 11 {
		moved[cpu] = uint64(20 - cpu%10)
	}
	assert.Equal(t, "20 to CPU 0, 20 to CPU 10, 19 to CPU 1, 18 to CPU 2, 17 to CPU 3, 16 to CPU 4, 15 to CPU 5, 14 to CPU 6,"+
		" the others to 3 more CPUs", places(moved, "to"))
}
