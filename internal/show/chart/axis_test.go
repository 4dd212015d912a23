package chart

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAxis(t *testing.T) {
	for _, c := range []struct {
		axis  Axis
		ticks []float64
	}{
		{axisOf([]float64{8.9, 194}, 100), []float64{0, 50, 100, 150}},
		{axisOf([]float64{0.15, 9}, 100), []float64{0.2, 0.5, 1, 2, 5}},
		{axisOf([]float64{0.15, 9e6}, 100), []float64{1, 100, 1e4, 1e6}},
		{linear(1, 8, 100), []float64{1, 2, 3, 4, 5, 6, 7, 8}},
		{whole(1, 3, 100), []float64{1, 2, 3}},
		{doublings(32<<10, 1<<30, 100), []float64{1 << 15, 1 << 18, 1 << 21, 1 << 24, 1 << 27, 1 << 30}},
		{doublings(1<<60, 1<<60, 100), []float64{1 << 60, 1 << 61}},
	} {
		assert.Equal(t, c.ticks, c.axis.Ticks)
	}
	rapid.Check(t, func(t *rapid.T) {
		figures := rapid.SliceOfN(rapid.Float64Range(-1e12, 1e100).Filter(func(x float64) bool { return Drawable(x) }), 1, 9).Draw(t, "figures")
		sizes := rapid.SliceOfN(rapid.Float64Range(8, 1e18), 1, 9).Draw(t, "sizes")
		for _, c := range []struct {
			axis Axis
			of   []float64
		}{
			{axisOf(figures, 100), figures},
			{closeAxis(figures, 100), figures},
			{doublings(slices.Min(sizes), slices.Max(sizes), 100), sizes},
		} {
			for _, x := range c.of {
				at := c.axis.At(x)
				require.True(t, at >= -1e-6 && at <= 100+1e-6, "%v of %v is at %v", x, c.of, at)
			}
			require.LessOrEqual(t, len(c.axis.Ticks), 8)
		}
	})
}
