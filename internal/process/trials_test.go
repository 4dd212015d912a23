package process

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/measure"
	"gorun/internal/result"
	"gorun/internal/stats"
)

// bindRun has two processes in each trial; their mean in trial i is unbound(i) and bound(i).
func bindRun(t require.TestingT, rounds int, unbound, bound func(trial int) float64) *result.Run {
	run := &result.Run{
		Matrix: &result.Matrix{Alpha: 0.05, Margin: 0.02, Precision: 0.02}, Cells: make([]result.Cell, 2),
	}
	for trial := range rounds {
		for cell, mean := range [...]func(int) float64{Unbound: unbound, Bound: bound} {
			r := BindRequest{Processes: 2, CPUs: []int{4, 7}, Bound: cell == Bound, Trial: trial, Checks: 100, Passes: 1}
			for process, part := range []float64{0.5, 1.5} {
				s, err := r.sample(process, bindAnswer{Checks: 100, Seconds: part * mean(trial)})
				require.NoError(t, err)
				measure.Judge(&s, 2)
				s.Index = len(run.Samples)
				s.Slot = &result.Slot{Cell: cell, Round: trial, Elapsed: 0.1 * float64(len(run.Samples)+1)}
				run.Samples = append(run.Samples, s)
			}
		}
	}
	return run
}

func steady(seconds float64) func(int) float64 { return func(int) float64 { return seconds } }

// deviate lets a sample's process have been elsewhere.
func deviate(t *testing.T, s *result.Sample, moved map[string]uint64) {
	var v result.BindProcess
	require.NoError(t, s.Values.Decode(&v))
	v.MovedTo, v.Deviations = moved, 0
	for _, count := range moved {
		v.Deviations += count
	}
	values, err := result.ValuesOf(v)
	require.NoError(t, err)
	s.Values = values
	if v.Bound {
		s.Placement.Verified, s.Placement.Mismatches = false, []string{"process 1 was elsewhere"}
		measure.Judge(s, 2)
	}
}

// The datum is the mean over the processes of a trial, and the pairs are those of one number, whatever changed
// between.
func TestJudgeBind(t *testing.T) {
	drift := func(trial int) float64 { return 0.01 * float64(1+trial*trial) }
	run := bindRun(t, 10, drift, func(trial int) float64 { return 0.9 * drift(trial) })
	JudgeBind(run)
	v := run.Cells[Bound].Verdict
	require.NotNil(t, v)
	assert.Equal(t, stats.Faster, v.Kind)
	assert.InDelta(t, 0.9, v.Typical.Ratio, 1e-9)
	assert.Equal(t, 10, v.Rounds)
	assert.Equal(t, v.String(), run.Cells[Bound].Words)
	assert.Nil(t, run.Cells[Unbound].Verdict)
	require.NotNil(t, run.Cells[Unbound].Summary)
	assert.Equal(t, 10, run.Cells[Unbound].Summary.Samples)
	assert.InDelta(t, 0.01*82, run.Cells[Unbound].Summary.Seconds.Max, 1e-9)
	assert.InDelta(t, 0.9*0.01, run.Cells[Bound].Summary.Seconds.Min, 1e-9)
	require.Len(t, run.Findings, 2)
	assert.Equal(t, result.Finding{
		Code: "deviations-unbound", Message: "Unbound, every process was on the CPU of the look before, in all of 2000 looks.",
	}, run.Findings[0])
	assert.Equal(t, "Bound, every process was on its CPU, in all of 2000 looks.", run.Findings[1].Message)

	// Judged again, it says the same.
	before := *run.Cells[Bound].Verdict
	JudgeBind(run)
	assert.Equal(t, before, *run.Cells[Bound].Verdict)
	assert.Len(t, run.Findings, 2)
}

// What cannot be told yet tells how long it takes on.
func TestJudgeBindMore(t *testing.T) {
	run := bindRun(t, 10, steady(1), func(trial int) float64 { return 1 + 0.05*float64(trial%5-2) })
	JudgeBind(run)
	v := run.Cells[Bound].Verdict
	require.Equal(t, stats.CantTell, v.Kind)
	require.Positive(t, v.MoreRounds)
	assert.InDelta(t, 0.4*float64(v.MoreRounds), v.MoreSeconds, 1e-9, "a pair of trials took 0.4 s")
}

// A process that left its CPU makes the verdict invalid; one that moved unbound is what is looked for.
func TestJudgeBindDeviations(t *testing.T) {
	run := bindRun(t, 10, steady(1), steady(0.5))
	deviate(t, &run.Samples[0], map[string]uint64{"4": 2, "7": 1})
	deviate(t, &run.Samples[5], map[string]uint64{"7": 1})
	JudgeBind(run)
	assert.Equal(t, stats.Faster, run.Cells[Bound].Verdict.Kind)
	assert.Equal(t, result.Finding{
		Code: "deviations-unbound", Value: 4,
		Message: "Unbound, a process was on another CPU than at the look before in 4 of 2000 looks, 2 of 20 processes at" +
			" least once: 2 to CPU 4, 2 to CPU 7.",
	}, run.Findings[0])

	deviate(t, &run.Samples[3], map[string]uint64{"7": 100})
	JudgeBind(run)
	assert.Equal(t, stats.Invalid, run.Cells[Bound].Verdict.Kind)
	assert.Equal(t, "invalid: the placement is not what was asked: process 1 was elsewhere", run.Cells[Bound].Words)
	assert.Equal(t, 9, run.Cells[Bound].Summary.Samples)
	assert.Equal(t, "Bound, a process was not on its CPU in 100 of 2000 looks, 1 of 20 processes at least once: 100 on CPU 7.",
		run.Findings[1].Message)
	assert.EqualValues(t, 100, run.Findings[1].Value)
}

func TestPlacesAreBounded(t *testing.T) {
	moved := trials{moved: map[string]uint64{}}
	for cpu := range 11 {
		moved.moved[fmt.Sprint(cpu)] = uint64(20 - cpu%10)
	}
	assert.Equal(t, "20 to CPU 0, 20 to CPU 10, 19 to CPU 1, 18 to CPU 2, 17 to CPU 3, 16 to CPU 4, 15 to CPU 5, 14 to CPU 6,"+
		" the others to 3 more CPUs", moved.places("to"))
}

// A trial that was cut short, or has no partner, says nothing of bound against unbound; a run without samples neither.
func TestJudgeBindCutShort(t *testing.T) {
	run := bindRun(t, 10, steady(1), steady(0.5))
	for i := range 2 {
		run.Samples[len(run.Samples)-1-i].Partial = true
	}
	JudgeBind(run)
	assert.Equal(t, 9, run.Cells[Bound].Verdict.Rounds)
	assert.Equal(t, 9, run.Cells[Bound].Summary.Samples)
	assert.Equal(t, 10, run.Cells[Unbound].Summary.Samples)

	run.Samples = nil
	JudgeBind(run)
	assert.Equal(t, "can't tell: too few rounds", run.Cells[Bound].Words)
	assert.Nil(t, run.Cells[Bound].Summary)
	assert.Empty(t, run.Findings)
}

// Which of the two came first changes nothing.
func TestJudgeBindOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Float64Range(0.1, 1), 14, 14).Draw(t, "times")
		run := bindRun(t, 7, func(i int) float64 { return times[i] }, func(i int) float64 { return times[7+i] })
		JudgeBind(run)
		want := *run.Cells[Bound].Verdict
		last := run.Samples[len(run.Samples)-1].Slot.Elapsed
		run.Samples = rapid.Permutation(run.Samples).Draw(t, "order")
		run.Samples[len(run.Samples)-1].Slot.Elapsed = last
		JudgeBind(run)
		got := *run.Cells[Bound].Verdict
		assert.InDelta(t, want.Typical.Ratio, got.Typical.Ratio, 1e-9)
		assert.Equal(t, want.Kind, got.Kind)
	})
}
