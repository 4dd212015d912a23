package matrix_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/matrix"
)

func TestWarmup(t *testing.T) {
	same := func(pilot ...float64) [][]float64 { return [][]float64{pilot, pilot, pilot} }
	for name, c := range map[string]struct {
		pilots [][]float64
		want   int
	}{
		"no pilot":                         {nil, 1},
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
	assert.GreaterOrEqual(t, matrix.PilotExecutions, 3+2, "the longest warm-up can be seen")
}
