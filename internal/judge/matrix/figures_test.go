package matrix_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

var cpuTime = column.CPU.Name

// withCPU makes a run judge CPU time too.
func withCPU(run *result.Run) *result.Run {
	run.Matrix.Figures = []result.JudgedFigure{{Column: cpuTime, Label: column.CPU.Label}}
	return run
}

// uses sets the CPU time of each sample: a tenth of a second, times the ratio of its cell.
func uses(ratios map[string]float64) func(*result.Sample, string) {
	return func(s *result.Sample, cell string) {
		noise := s.Seconds / 0.1
		if ratios[cell] != 0 {
			noise = ratios[cell] * (1 + 0.001*float64(s.Index%7))
		}
		s.UserSeconds, s.SystemSeconds = 0.06*noise, 0.04*noise
	}
}

// A placement that makes threads wait takes longer with the same CPU time. A judging has the verdicts by both while a run lasts.
func TestFiguresDisagree(t *testing.T) {
	run := withCPU(workers(2))
	judging := fake{ratios: map[string]float64{"workers=1": 2}, spoil: uses(map[string]float64{"workers=0": 1, "workers=1": 1})}.play(t, run, 60)
	waits, interim := run.Cells[1], judging.Interim()
	assert.Equal(t, stats.Slower, waits.Verdict.Kind)
	assert.Equal(t, stats.Same, waits.Verdicts[cpuTime].Kind, waits.Verdicts[cpuTime])
	assert.Equal(t, run.Matrix.Figures, interim.Figures)
	assert.Equal(t, waits.Verdicts, interim.Cells[1].Verdicts)
	assert.Empty(t, interim.Cells[0].Verdicts, "the baseline has no verdict")
}

// Two figures have half of the error rate each, and only the first decides the order and the length of a run.
func TestFiguresShareAlpha(t *testing.T) {
	f := fake{ratios: map[string]float64{"workers=1": 1.01, "workers=2": 1.3}, spoil: uses(nil)}
	alone, both, noisy := workers(4), withCPU(workers(4)), withCPU(workers(4))
	alone.Matrix.Alpha /= 2
	f.play(t, alone, 400)
	f.play(t, both, 400)
	f.spoil = uses(map[string]float64{"workers=3": 5})
	f.play(t, noisy, 400)
	require.Equal(t, document(t, alone.Samples), document(t, both.Samples))
	assert.Equal(t, both.Samples.Len(), noisy.Samples.Len())
	for i, cell := range alone.Cells {
		assert.Equal(t, cell.Verdict, both.Cells[i].Verdict)
	}
}

// The second family has an error rate of its own, decides nothing, and is silent about a figure that follows from the time.
func TestSecondFamily(t *testing.T) {
	second := func(run *result.Run) *result.Run {
		withCPU(run).Matrix.Figures[0].Second = true
		return run
	}
	f := fake{ratios: map[string]float64{"workers=1": 1.01, "workers=2": 1.3}, spoil: uses(nil)}
	alone, both, other := workers(4), second(workers(4)), second(workers(4))
	f.play(t, alone, 400)
	f.play(t, both, 400)
	require.Equal(t, document(t, alone.Samples), document(t, both.Samples))
	f.spoil = uses(map[string]float64{"workers=0": 1, "workers=1": 1.2, "workers=2": 1, "workers=3": 1})
	f.play(t, other, 400)
	want := []stats.Kind{stats.Slower, stats.Same, stats.Same}
	for i, cell := range alone.Cells[1:] {
		assert.Equal(t, cell.Verdict, both.Cells[i+1].Verdict)
		assert.Empty(t, both.Cells[i+1].Verdicts, "it says the same as the time")
		assert.Equal(t, cell.Verdict, other.Cells[i+1].Verdict)
		assert.Equal(t, want[i], other.Cells[i+1].Verdicts[cpuTime].Kind)
	}
	assert.True(t, strings.HasPrefix(other.Cells[1].Verdicts[cpuTime].String(), "worse: +"), "it need not be a time")

	other.Matrix.Figures = append(other.Matrix.Figures, result.JudgedFigure{Column: "a"}, result.JudgedFigure{Column: "b", Second: true, Cells: 2})
	assert.Equal(t, 8, other.Comparisons(false), "four cells by two figures")
	assert.Equal(t, 6, other.Comparisons(true), "four cells, and two")
}

// An unknown CPU time does not count as zero: a cell with too many unknown ones is not judged by it. It is not needed for wall time.
func TestFigureIsMissing(t *testing.T) {
	for lost, want := range map[int]stats.Kind{1: stats.Slower, 3: stats.CantTell, 60: ""} {
		run := withCPU(workers(3))
		run.Matrix.Rounds = 60
		fake{ratios: map[string]float64{"workers=1": 1.2}, spoil: func(s *result.Sample, cell string) {
			if uses(nil)(s, cell); cell == "workers=1" && !s.Control && s.Round < lost {
				s.UserSeconds, s.SystemSeconds = 0, 0
			}
		}}.play(t, run, 60)
		assert.Equal(t, stats.Slower, run.Cells[1].Verdict.Kind)
		assert.Equal(t, 60, run.Cells[1].Verdict.Rounds)
		cpu := run.Cells[1].Verdicts[cpuTime]
		assert.Equal(t, want, cpu.Kind, "%d lost: %s", lost, cpu)
		assert.NotEmpty(t, run.Cells[2].Verdicts)
		assert.NotEmpty(t, run.Matrix.ControlVerdicts)
	}
}

// Both trials of a pair are compared by each figure; a run without it has the verdict on wall time alone.
func TestPairsByFigures(t *testing.T) {
	run := withCPU(trialsRun(10, steady(0.1), steady(0.2)))
	run.Samples = run.Samples.Map(func(i int, s *result.Sample) { s.UserSeconds = 0.05 * (1 + 0.001*float64(i%3)) })
	judgePairs(t, run)
	assert.Equal(t, stats.Slower, run.Cells[together].Verdict.Kind)
	cpu := run.Cells[together].Verdicts[cpuTime]
	assert.Equal(t, stats.Same, cpu.Kind, cpu)
	assert.Empty(t, run.Cells[apart].Verdicts)
	run.Samples = run.Samples.Map(func(_ int, s *result.Sample) { s.UserSeconds = 0 })
	judgePairs(t, run)
	assert.Empty(t, run.Cells[together].Verdicts)
}

// Two runs are compared by the figures that both judge.
func TestCompareByFigures(t *testing.T) {
	f := fake{spoil: uses(map[string]float64{"workers=0": 1, "workers=1": 1})}
	later := fake{session: 5, ratios: map[string]float64{"workers=1": 1.5}, spoil: f.spoil}
	a, b := measured(t, "a", withCPU(workers(2)), f), measured(t, "b", withCPU(workers(2)), later)
	c := compare(t, a, b)
	cell := c.Cells[1]
	assert.Equal(t, stats.Slower, cell.Verdict.Kind)
	require.Len(t, cell.Figures, 1)
	assert.Equal(t, result.JudgedFigure{Column: cpuTime, Label: "CPU time"}, cell.Figures[0].JudgedFigure)
	assert.Equal(t, stats.Same, cell.Figures[0].Relative.Kind)
	assert.Nil(t, c.Cells[0].Figures[0].Relative, "of the baseline")

	f.spoil = func(s *result.Sample, cell string) {
		uses(nil)(s, cell)
		invalidate("workers=1", 0, "torn")(s, cell)
	}
	lost := compare(t, measured(t, "a", withCPU(workers(2)), f), b)
	assert.Equal(t, "invalid: in A: torn", lost.Cells[1].Words)
	assert.Empty(t, lost.Cells[1].Figures, "once is enough")

	wall := compare(t, measured(t, "a", workers(2), fake{}), b)
	assert.Empty(t, wall.Cells[1].Figures)
}

// A figure of which more is better is compared as the rate that it is.
func TestCompareRates(t *testing.T) {
	f := fake{spoil: uses(map[string]float64{"workers=0": 1, "workers=1": 1})}
	more := fake{session: 5, spoil: uses(map[string]float64{"workers=0": 2, "workers=1": 2})}
	rates := func() *result.Run {
		run := workers(2)
		run.Matrix.Compared, run.Matrix.Better = cpuTime, result.Higher
		return run
	}
	cell := compare(t, measured(t, "a", rates(), f), measured(t, "b", rates(), more)).Cells[1]
	assert.InDelta(t, 0.5, cell.Verdict.Typical.Ratio, 0.01)
	assert.True(t, cell.Verdict.Rate, "in words, it is twice as much: %s", cell.Words)
	assert.InDelta(t, 0.1, cell.SecondsA.Median, 0.01, "as it was measured, not its inverse")
	assert.InDelta(t, 0.2, cell.SecondsB.Median, 0.01)
	assert.NotEmpty(t, cell.Metric)
}
