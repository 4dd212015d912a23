package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func sortedValues(t *rapid.T) []float64 {
	values := rapid.SliceOfN(rapid.Float64Range(-2, 2), 1, 40).Draw(t, "values")
	if rapid.Bool().Draw(t, "ties") {
		for i := range values {
			values[i] = math.Round(4*values[i]) / 4
		}
	}
	slices.Sort(values)
	return values
}

// means returns all means of two values, a value with itself included, in ascending order.
func means(values []float64) (means []float64) {
	for i := range values {
		for j := range i + 1 {
			means = append(means, (values[i]+values[j])/2)
		}
	}
	slices.Sort(means)
	return means
}

func TestHodgesLehmannIsTheMedianOfMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := sortedValues(t)
		require.InDelta(t, median(means(values)), hodgesLehmann(values), 1e-15)
	})
}

func TestDeviationHoldsTheNearestQuarter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := append(sortedValues(t), 3)
		var distances []float64
		for _, v := range values {
			distances = append(distances, math.Abs(v-median(values)))
		}
		slices.Sort(distances)
		quarter := max(2, int(math.Round(float64(len(values))/4)))
		require.InDelta(t, distances[quarter-1], sortedOf(values).deviation(), 1e-15)
	})
}
