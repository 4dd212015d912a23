package matrix_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/judge/matrix"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// copies returns a search in order among numbers of copies.
func copies(numbers ...string) *result.Run {
	run := design("copies", numbers...)
	run.Matrix.Enough, run.Matrix.Rules = result.EnoughAnswer, matrix.Rules
	matrix.Scaling{"copies": true}.SetSteps(run)
	return run
}

// takes returns noise whose samples take the times of these numbers of copies, in those of one.
func takes(times map[string]float64) fake {
	f := fake{ratios: map[string]float64{}}
	for n, time := range times {
		f.ratios["copies="+n] = time
	}
	return f
}

func TestSetSteps(t *testing.T) {
	scaling := matrix.Scaling{"copies": true, "workers": false}
	of := func(work ...float64) (steps []result.Step) {
		for i, w := range work {
			steps = append(steps, result.Step{Cell: i + 1, Work: w})
		}
		return steps
	}
	for name, c := range map[string]struct {
		run    *result.Run
		change func(*result.Run)
		want   []result.Step
	}{
		"copies":         {design("copies", "1", "2", "6"), nil, of(2, 3)},
		"threads":        {design("workers", "1", "2", "4"), nil, of(1, 1)},
		"two":            {design("copies", "2", "3"), nil, of(1.5)},
		"another flag":   {design("nice", "0", "5"), nil, nil},
		"descending":     {design("copies", "2", "1"), nil, nil},
		"words":          {design("copies", "1", "auto"), nil, nil},
		"by a metric":    {design("copies", "1", "2"), func(r *result.Run) { r.Matrix.Compared = result.MetricColumn }, nil},
		"another figure": {design("workers", "1", "2"), func(r *result.Run) { r.Matrix.Compared = result.MetricColumn }, of(1)},
		"two flags":      {design("copies", "1", "2"), func(r *result.Run) { r.Cells[0].Flags["nice"], r.Cells[1].Flags["nice"] = "1", "2" }, nil},
		"a flag of some": {design("copies", "1", "2"), func(r *result.Run) { r.Cells[0].Flags["nice"] = "1" }, nil},
		"a shared flag":  {design("copies", "1", "2"), func(r *result.Run) { r.Cells[0].Flags["nice"], r.Cells[1].Flags["nice"] = "1", "1" }, of(2)},
		"rows":           {design("copies", "1", "2"), func(r *result.Run) { r.Cells[1].Against = new(1) }, nil},
		"a baseline":     {design("copies", "1", "2"), func(r *result.Run) { r.Matrix.Baseline = 1 }, nil},
		"contrasts":      {design("copies", "1", "2", "3"), func(r *result.Run) { r.Matrix.Contrasts = []result.Contrast{{A: 1, B: 2}} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if c.change != nil {
				c.change(c.run)
			}
			scaling.SetSteps(c.run)
			assert.Equal(t, c.want, c.run.Matrix.Steps)
			for i := range c.want {
				assert.Equal(t, i, c.run.Against(i+1))
			}
		})
	}
}

// Each step has blocks of its own, and begins when the one before it is claimed to scale; the search ends at the first that is not.
func TestStepsInOrder(t *testing.T) {
	run := copies("1", "2", "4", "8")
	judging := newJudging(t, run)
	assert.Equal(t, 3, judging.Round())
	reached, rounds := 0, map[int]int{} // by the greater cell of the block
	for f := takes(map[string]float64{"2": 1.1, "4": 2.3, "8": 2.3}); !judging.Done(); {
		cells := map[int]int{}
		for range judging.Round() {
			cells[judging.Next().Cell]++
			require.NoError(t, f.step(judging, run))
		}
		upper := slices.Max(slices.Collect(maps.Keys(cells)))
		assert.Equal(t, map[int]int{upper - 1: 2, upper: 1}, cells, "the lower number, its duplicate and the upper one")
		assert.GreaterOrEqual(t, upper, reached)
		reached = upper
		rounds[upper]++
	}
	judging.Judge()
	assert.Equal(t, 2, reached)
	assert.Equal(t, 1, *run.Matrix.Reached)
	assert.Equal(t, stats.Scales, run.Cells[1].Verdict.Kind)
	assert.Equal(t, stats.Stops, run.Cells[2].Verdict.Kind)
	assert.Equal(t, rounds[1], run.Cells[1].Verdict.Rounds)
	assert.Equal(t, rounds[2], run.Cells[2].Verdict.Rounds)
	assert.Equal(t, stats.CantTell, run.Cells[3].Verdict.Kind)
	assert.Contains(t, run.Cells[3].Words, "not tried")
	assert.Nil(t, run.Cells[3].Summary)
	assert.Empty(t, run.Matrix.Ranking)
	assert.Len(t, run.Matrix.Controls, 2)
	interim := judging.Interim()
	assert.Negative(t, interim.Left)
	for _, cell := range interim.Cells {
		assert.False(t, cell.Open)
	}
}

// All numbers are tried while they scale. Numbers of threads do the same work: they scale while they take less time.
func TestStepsToTheEnd(t *testing.T) {
	run := copies("1", "2", "4")
	takes(nil).play(t, run, 100)
	assert.Equal(t, 2, *run.Matrix.Reached)

	threads := design("workers", "1", "2", "4")
	threads.Matrix.Enough = result.EnoughAnswer
	matrix.Scaling{"workers": false}.SetSteps(threads)
	fake{ratios: map[string]float64{"workers=2": 0.6, "workers=4": 0.62}}.play(t, threads, 100)
	assert.Equal(t, 1, *threads.Matrix.Reached)
	assert.Equal(t, stats.Stops, threads.Cells[2].Verdict.Kind)
}

// A step whose cell fails, or whose samples are too often invalid, is not claimed, and nothing is claimed after it.
func TestStepsOfFailures(t *testing.T) {
	run := copies("1", "2", "4")
	f := takes(nil)
	f.spoil = invalidate("copies=2", 0, "it failed")
	judging := f.play(t, run, 100)
	assert.True(t, judging.Done())
	assert.Equal(t, 0, *run.Matrix.Reached)
	assert.Equal(t, stats.Invalid, run.Cells[1].Verdict.Kind)
	assert.Less(t, judging.Rounds(), 5)

	lost := copies("1", "2", "4")
	f.spoil = func(s *result.Sample, of string) {
		if of == "copies=2" && s.Round%4 == 1 {
			s.Quality = result.Quality{Grade: result.Invalid, Reasons: []string{"it failed"}}
		}
	}
	f.play(t, lost, 100)
	assert.Equal(t, 0, *lost.Matrix.Reached)
	assert.Equal(t, stats.CantTell, lost.Cells[1].Verdict.Kind)

	gone := copies("1", "2", "4")
	f.spoil = invalidate("copies=1", 0, "it failed")
	assert.True(t, f.play(t, gone, 100).Done())
}

// The deciding figure has the whole error of each step, and other figures share one over all steps.
func TestStepsShareTheError(t *testing.T) {
	few, many := copies("1", "2"), copies("1", "2", "4", "8", "16", "32", "64")
	for _, run := range []*result.Run{few, many} {
		run.Matrix.Figures = []result.JudgedFigure{{Column: column.CPU.Name, Label: "CPU time"}}
	}
	assert.Equal(t, 4, few.Comparisons(false))
	assert.Equal(t, 4*6, many.Comparisons(false))
	rounds := func(run *result.Run) (n int) {
		f := takes(nil)
		f.spoil = func(s *result.Sample, _ string) { s.UserSeconds = s.Seconds }
		f.play(t, run, 1000)
		return run.Cells[1].Verdict.Rounds
	}
	assert.Equal(t, rounds(few), rounds(many), "the first step takes no longer where more may follow")
}

// A search in order has no other end, and continues only as one.
func TestStepsGoOn(t *testing.T) {
	run := copies("1", "2", "4")
	judging := newJudging(t, run)
	require.Error(t, judging.GoOn(result.End{Samples: 20, Enough: result.EnoughAnswer}))
	all := design("copies", "1", "2", "4")
	assert.Equal(t, []result.Difference{{
		A: "its steps tried in order, of the work 2, 2", B: "all cells sampled (as with --every-step)",
	}}, matrix.Resumable(run, all))
	assert.Empty(t, matrix.Resumable(run, copies("1", "2", "4")))
	assert.Contains(t, judging.Order().Method, "step by step")
	assert.Len(t, judging.Order().First, 1)
}
