package matrix_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/judge/matrix"
)

func TestWarmup(t *testing.T) {
	same := func(pilot ...float64) [][]float64 { return [][]float64{pilot, pilot, pilot} }
	for name, c := range map[string]struct {
		pilots [][]float64
		want   int
	}{
		"an empty one":                     {[][]float64{{}, {1, 1, 1, 1, 1}}, 1},
		"warm at once":                     {same(1, 1, 1, 1, 1), 1},
		"cold once":                        {same(2, 1, 1, 1, 1), 1},
		"cold twice":                       {same(2, 1.5, 1, 1, 1), 2},
		"cold three times":                 {same(2, 1.5, 1.2, 1, 1), 3},
		"the second warm, the third cold":  {same(2, 1, 1.2, 1, 1), 3},
		"never more than three":            {same(9, 8, 7, 6, 1, 1, 1, 1), 3},
		"two are left to compare with":     {same(3, 2, 1.5, 1), 2},
		"too short to tell":                {same(3, 2, 1), 1},
		"one execution":                    {same(3), 1},
		"as many as the shortest has":      {[][]float64{{9, 8, 7, 1, 1}, {9, 8, 1, 1}, {9, 8, 7, 1, 1}}, 2},
		"beyond the shortest says nothing": {[][]float64{{2, 1.5, 1.5, 1.5, 1, 1, 1, 1}, {2, 1.5, 1, 1}}, 1},
		"cold in two of three":             {[][]float64{{2, 1.5, 1, 1, 1}, {2, 1, 1, 1, 1}, {2, 1.5, 1, 1, 1}}, 1},
		"noise in one":                     {[][]float64{{2, 1, 5, 1, 1}, {2, 1, 1, 1, 1}, {2, 1, 1, 1, 1}}, 1},
		"noise after a cold one":           {[][]float64{{2, 1.5, 1, 9, 1}, {2, 1.5, 1, 1, 1}}, 2},
		"2% is warm":                       {same(2, 1.02, 1, 1, 1), 1},
		"more than 2% is cold":             {same(2, 1.021, 1, 1, 1), 2},
		"slower and slower is not cold":    {same(1, 1.1, 1.2, 1.3, 1.4), 1},
	} {
		assert.Equal(t, c.want, matrix.Warmups(c.pilots), name)
	}
	assert.GreaterOrEqual(t, matrix.PilotExecutions, 3+2, "the longest warm-up can be detected")
}

// A part of an execution is the warm-up exactly if the first execution after it is no slower than the later ones.
func TestPartAsWarmup(t *testing.T) {
	whole := matrix.Warmup{Executions: 1}
	part := matrix.Warmup{Executions: 1, Seconds: 0.02}
	same := func(executions ...float64) [][]float64 { return [][]float64{executions, executions, executions} }
	warm := same(1.2, 1, 1, 1, 1)
	for name, c := range map[string]struct {
		alone, after [][]float64 // each process's executions, by themselves and after the part
		seconds      float64     // that each execution takes
		want         matrix.Warmup
	}{
		"no slower":              {warm, same(1, 1, 1), 0.1, part},
		"faster":                 {warm, same(0.9, 1, 1), 0.1, part},
		"2% is warm":             {warm, same(1.02, 1, 1), 0.1, part},
		"slower":                 {warm, same(1.021, 1, 1), 0.1, whole},
		"slower in one of three": {warm, [][]float64{{1, 1, 1}, {2, 1, 1}, {1, 1, 1}}, 0.1, part},
		"slower in two of three": {warm, [][]float64{{2, 1, 1}, {2, 1, 1}, {1, 1, 1}}, 0.1, whole},
		"too few after the part": {warm, [][]float64{{1, 1, 1}, {1, 1}, {1, 1, 1}}, 0.1, whole},
		"several are needed":     {same(2, 1.5, 1, 1, 1), nil, 0.1, matrix.Warmup{Executions: 2}},
		"too few to try it":      {same(1, 1), nil, 0.1, whole},
		"too short to try it":    {warm, nil, 0.019, whole},
		"a round time":           {warm, same(1, 1, 1), 3, matrix.Warmup{Executions: 1, Seconds: 0.5}},
		"another round time":     {warm, same(1, 1, 1), 0.04, matrix.Warmup{Executions: 1, Seconds: 0.01}},
	} {
		process := 0
		got, err := matrix.Pilot(time.Minute,
			func(w matrix.Warmup, executions int, budget time.Duration) (taken []matrix.Execution, err error) {
				assert.Equal(t, 20*time.Second, budget, name)
				pilots := c.alone
				if process >= len(c.alone) {
					require.NotNil(t, c.after, name)
					assert.Equal(t, 1, w.Executions, name)
					assert.Positive(t, w.Seconds, name)
					assert.LessOrEqual(t, w.Seconds, c.seconds/4, name)
					pilots = c.after
				} else {
					assert.Zero(t, w, name)
				}
				for _, compared := range pilots[process%len(pilots)] {
					taken = append(taken, matrix.Execution{Compared: compared, Seconds: c.seconds})
				}
				process++
				return taken, nil
			})
		require.NoError(t, err, name)
		assert.Equal(t, c.want, got, name)
	}
	failed := errors.New("failed")
	for fails := range 6 {
		_, err := matrix.Pilot(0, func(matrix.Warmup, int, time.Duration) ([]matrix.Execution, error) {
			if fails--; fails < 0 {
				return nil, failed
			}
			return []matrix.Execution{{1, 1}, {1, 1}, {1, 1}}, nil
		})
		require.ErrorIs(t, err, failed)
	}
}
