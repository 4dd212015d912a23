package stats

import (
	"math"
	"math/rand/v2"
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

// Each rank is found, also of many values, of equal ones, and of some that lie far away.
func TestSmallestSumOfMany(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, value := range map[string]func(i int) float64{
		"normal": func(int) float64 { return random.NormFloat64() },
		"equal":  func(i int) float64 { return float64(i % 3) },
		"ticks":  func(int) float64 { return math.Round(5*random.NormFloat64()) / 64 },
		"tails":  func(int) float64 { return math.Exp(20*random.NormFloat64()) - 1 },
		"apart":  func(i int) float64 { return float64(i%2)*1e6 + 1e-9*random.Float64() },
	} {
		values := make([]float64, 1500)
		for i := range values {
			values[i] = value(i)
		}
		slices.Sort(values)
		all := means(values)
		for _, rank := range []int{1, 2, 1000, len(all) / 3, (len(all) + 1) / 2, len(all)/2 + 1, len(all) - 999, len(all)} {
			require.Equal(t, all[rank-1], smallestSum(values, rank)/2, "%s, rank %d", name, rank)
		}
	}
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
