package matrix_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// The cells of trialsRun.
const (
	apart = iota // the baseline
	together
)

// trialsRun returns a run of pairs of samples; those of pair i last base(i) and cell(i).
func trialsRun(rounds int, base, cell func(trial int) float64) *result.Run {
	run := &result.Run{
		Schema: result.Schema, Experiment: "trials",
		Matrix: &result.Matrix{
			Alpha: 0.05, Margin: 0.02, Precision: 0.02, Baseline: apart, Order: result.Order{Design: result.Pairs},
		},
		Cells: []result.Cell{
			apart:    {Name: "apart", Flags: map[string]string{"placement": "apart"}},
			together: {Name: "together", Flags: map[string]string{"placement": "together"}},
		},
	}
	for trial := range rounds {
		for i, mean := range [...]func(int) float64{apart: base, together: cell} {
			run.Samples.Append(&result.Sample{
				Index: run.Samples.Len(), Seconds: mean(trial), Quality: result.Quality{Grade: result.Valid},
				Slot: &result.Slot{Cell: i, Round: trial, Elapsed: 0.2 * float64(run.Samples.Len()+1)},
			})
		}
	}
	return run
}

func judgePairs(t *testing.T, run *result.Run) {
	t.Helper()
	figures, err := matrix.Comparands(run, column.Common())
	require.NoError(t, err)
	matrix.JudgePairs(run, figures)
}

func steady(seconds float64) func(int) float64 { return func(int) float64 { return seconds } }

// Samples with the same number are a pair, even if conditions change between pairs.
func TestJudgePairs(t *testing.T) {
	drift := func(trial int) float64 { return 0.01 * float64(1+trial*trial) }
	run := trialsRun(10, drift, func(trial int) float64 { return 0.9 * drift(trial) })
	judgePairs(t, run)
	v := run.Cells[together].Verdict
	require.NotNil(t, v)
	assert.Equal(t, stats.Faster, v.Kind)
	assert.InDelta(t, 0.9, v.Typical.Ratio, 1e-9)
	assert.Equal(t, 10, v.Rounds)
	assert.Equal(t, v.String(), run.Cells[together].Words)
	assert.Nil(t, run.Cells[apart].Verdict)
	require.NotNil(t, run.Cells[apart].Summary)
	assert.Equal(t, 10, run.Cells[apart].Summary.Samples)
	assert.InDelta(t, 0.01*82, run.Cells[apart].Summary.Seconds.Max, 1e-9)
	assert.InDelta(t, 0.9*0.01, run.Cells[together].Summary.Seconds.Min, 1e-9)
}

// An undecided verdict says how long a decision will take.
func TestJudgePairsMore(t *testing.T) {
	run := trialsRun(10, steady(1), func(trial int) float64 { return 1 + 0.05*float64(trial%5-2) })
	judgePairs(t, run)
	v := run.Cells[together].Verdict
	require.Equal(t, stats.CantTell, v.Kind)
	require.Positive(t, v.MoreRounds)
	assert.InDelta(t, 0.4*float64(v.MoreRounds), v.MoreSeconds, 1e-9, "a pair of trials took 0.4 s")
}

// A trial with an invalid sample, or with one that was cut short, is left out; with three invalid ones, there is no verdict.
func TestJudgePairsWithoutASample(t *testing.T) {
	torn := result.Quality{Grade: result.Invalid, Reasons: []string{"it was elsewhere"}}
	for name, spoil := range map[string]func(*result.Sample){
		"invalid": func(s *result.Sample) { s.Quality = torn }, "cut short": func(s *result.Sample) { s.Partial = true },
	} {
		run := trialsRun(10, steady(1), steady(0.5))
		run.Samples = run.Samples.Map(func(i int, s *result.Sample) {
			if i == 19 {
				spoil(s)
			}
		})
		judgePairs(t, run)
		assert.Equal(t, stats.Faster, run.Cells[together].Verdict.Kind, name)
		assert.Equal(t, 9, run.Cells[together].Verdict.Rounds, name)
		assert.Equal(t, 9, run.Cells[together].Summary.Samples, name)
		assert.Equal(t, 10, run.Cells[apart].Summary.Samples, name)
	}
	run := trialsRun(10, steady(1), steady(0.5))
	run.Samples = run.Samples.Map(func(i int, s *result.Sample) {
		if i == 3 || i == 7 || i == 11 {
			s.Quality = torn
		}
	})
	judgePairs(t, run)
	assert.Equal(t, "can't tell: 3 of 10 samples of the cell are invalid: it was elsewhere", run.Cells[together].Words)

	run.Samples = result.Samples{}
	judgePairs(t, run)
	assert.Equal(t, "can't tell: too few samples yet", run.Cells[together].Words)
	assert.Nil(t, run.Cells[together].Summary)
}

// Rows taken one after the other are not judged against those of another run.
func TestCompareRows(t *testing.T) {
	run := trialsRun(10, steady(1), steady(0.5))
	run.Matrix.Order.Design = result.Rows
	_, err := matrix.Compare(matrix.Side{File: "a", Run: run}, matrix.Side{File: "b", Run: run}, nil, nil, true)
	require.ErrorContains(t, err, "a has all samples of a row after each other")
	assert.Equal(t, "measure both without --blocks", hint.Of(err))
}
