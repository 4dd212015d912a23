package chart

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAxis(t *testing.T) {
	assert.Equal(t, []float64{0, 50, 100, 150}, axisOf([]float64{8.9, 194}, 100).Ticks)
	assert.Equal(t, []float64{0.1, 1, 10}, axisOf([]float64{0.15, 9}, 100).Ticks)
	assert.Equal(t, []float64{1, 2, 3, 4, 5, 6, 7, 8}, Linear(1, 8, 100).Ticks)
	assert.Equal(t, []float64{5}, Linear(5, 5, 100).Ticks[:1])
	rapid.Check(t, func(t *rapid.T) {
		figures := rapid.SliceOfN(rapid.Float64Range(-1e12, 1e300), 1, 9).Draw(t, "figures")
		a := axisOf(figures, 100)
		for _, x := range figures {
			at := a.At(x)
			require.True(t, at >= -1e-6 && at <= 100+1e-6, "%v of %v is at %v", x, figures, at)
		}
		require.LessOrEqual(t, len(a.Ticks), 700)
	})
}

func TestDoublings(t *testing.T) {
	a := doublings(32<<10, 1<<30, 100)
	assert.Equal(t, []float64{1 << 15, 1 << 17, 1 << 19, 1 << 21, 1 << 23, 1 << 25, 1 << 27, 1 << 29}, a.Ticks)
	assert.Equal(t, []float64{0, 50, 100}, []float64{a.At(1 << 15), math.Round(a.At(math.Sqrt(1 << 45))), a.At(1 << 30)})
	assert.Equal(t, 0.0, doublings(1<<60, 1<<60, 100).At(1<<60), "sizes that differ in less than a float64 can tell")
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(8, 1e12).Draw(t, "lo")
		hi := lo * rapid.Float64Range(1.001, 1e6).Draw(t, "ratio")
		a := doublings(lo, hi, 100)
		assert.LessOrEqual(t, len(a.Ticks), 10)
		assert.GreaterOrEqual(t, len(a.Ticks), 2)
		assert.GreaterOrEqual(t, a.At(lo), 0.0)
		assert.LessOrEqual(t, a.At(hi), 100.0)
	})
}
