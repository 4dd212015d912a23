package matrix_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/judge/matrix"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

func TestFigures(t *testing.T) {
	type figures struct{ Metric, NsPerOp float64 }
	columns := column.List{
		column.Computed(column.Column{Name: result.MetricColumn}, func(f *figures) float64 { return f.Metric }),
		column.Computed(column.Column{Name: "ns_per_op", Unit: column.Nanoseconds}, func(f *figures) float64 { return f.NsPerOp }),
	}
	s := result.Sample{Seconds: 3, Values: result.FiguresOf(&figures{4, 5})}
	for want, m := range map[float64]result.Matrix{
		3:    {},
		4:    {Compared: result.MetricColumn, Better: result.Lower},
		0.25: {Compared: result.MetricColumn, Better: result.Higher},
		5e-9: {Compared: "ns_per_op"},
	} {
		figures, err := matrix.Comparands(&result.Run{Matrix: &m}, columns)
		require.NoError(t, err)
		require.Len(t, figures, 1)
		assert.InDelta(t, want, figures[0].Of(&s), 1e-18)
	}
	_, err := matrix.Comparands(&result.Run{Matrix: &result.Matrix{Compared: "other_ns"}}, columns)
	require.EqualError(t, err, "the cells are compared by other_ns, which this gorun does not know")
	energy := result.JudgedFigure{Column: "joules", Label: "energy"}
	_, err = matrix.Comparands(&result.Run{Matrix: &result.Matrix{Figures: []result.JudgedFigure{energy}}}, columns)
	require.EqualError(t, err, "the cells are judged by joules, which this gorun does not know")
	_, err = matrix.Comparands(&result.Run{Matrix: &result.Matrix{}, Cells: []result.Cell{{By: &energy}}}, columns)
	require.EqualError(t, err, "cell 0 is judged by joules, which this gorun does not know")
}

// A cell and those that are compared with it have a deciding figure of their own, which is not judged a second time there.
func TestFigureOfCells(t *testing.T) {
	type figures struct {
		Rate *float64 `json:"rate" is:"A rate."`
	}
	columns := column.Join(column.Of[figures](), column.Common())
	rate := result.JudgedFigure{Column: "rate", Label: "req/s", Better: result.Higher}
	second := rate
	second.Second, second.Cells = true, 2
	run := workers(4) // 0 and 1 are judged by wall time and by the rate too, 2 and 3 by the rate alone
	run.Matrix.Figures, run.Matrix.Rounds = []result.JudgedFigure{second}, 40
	for i := range run.Cells {
		run.Cells[i].Against = new(i / 2 * 2)
	}
	run.Cells[2].By, run.Cells[3].By = &rate, &rate
	judging, err := matrix.NewJudging(run, columns)
	require.NoError(t, err)
	f := fake{ratios: map[string]float64{"workers=1": 2, "workers=3": 1.3}, spoil: func(s *result.Sample, cell string) {
		seconds := s.Seconds
		per := 0.1 * (1 + 0.01*float64(s.Index%7)) // does not follow from the wall time
		if cell > "workers=1" {
			s.Seconds, per = 0.1, seconds
		}
		s.Values = result.FiguresOf(&figures{new(100 / per)})
	}}
	for !judging.Done() {
		require.NoError(t, f.step(judging, run))
	}
	judging.Judge()
	assert.Equal(t, "slower", run.Cells[1].Verdict.Word())
	assert.Equal(t, "lower", run.Cells[3].Verdict.Word(), run.Cells[3].Verdict)
	for i, cell := range run.Cells {
		assert.Equal(t, i == 1, len(cell.Verdicts) > 0, i)
		assert.Equal(t, i > 1, cell.Summary.Metric != nil, i)
	}
	assert.InDelta(t, 1000/1.3, run.Cells[3].Summary.Metric.Median, 10)
	assert.Equal(t, "req/s", judging.Interim().Cells[3].By.Label)

	without := result.Sample{Slot: &result.Slot{Cell: 3}, Seconds: 1, Quality: result.Quality{Grade: result.Valid}}
	judging.Check(&without)
	assert.Equal(t, result.Quality{Grade: result.Invalid, Reasons: []string{"the req/s is not known"}}, without.Quality)

	other := *run
	other.Cells = slices.Clone(run.Cells)
	other.Cells[3].By = &result.JudgedFigure{Column: "rate", Label: "req/s", Better: result.Lower}
	assert.Equal(t, []result.Difference{{What: "figure of cell 3", A: "rate higher", B: "rate lower"}}, matrix.Resumable(run, &other))
	other.Cells[2].By, other.Cells[3].By = nil, nil
	c, err := matrix.Compare(matrix.Side{File: "a", Run: run}, matrix.Side{File: "b", Run: &other}, columns, nil, false)
	require.NoError(t, err)
	assert.Equal(t, stats.InvalidVerdict("by req/s in A, and by wall time in B"), c.Cells[3].Verdict)
	c, err = matrix.Compare(matrix.Side{File: "a", Run: run}, matrix.Side{File: "b", Run: run}, columns, nil, false)
	require.NoError(t, err)
	assert.Equal(t, "req/s", c.Cells[3].Metric)
	assert.InDelta(t, 1000/1.3, c.Cells[3].SecondsA.Median, 10)
	assert.NotEqual(t, stats.Invalid, c.Cells[3].Verdict.Kind)
}
