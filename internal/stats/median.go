package stats

import (
	"cmp"
	"slices"
)

// Median returns the median of values in any order: the mean of the middle two for an even number, and 0 for none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	if !slices.IsSorted(values) {
		values = slices.Sorted(slices.Values(values))
	}
	return median(values)
}

// median returns the median of sorted values.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Middle returns the item whose figure is the median, or the lower of the middle two for an even number of items. Items
// with equal figures stay in their order. Without items it returns the zero value.
func Middle[T any, F cmp.Ordered](items []T, figure func(T) F) (middle T) {
	if len(items) == 0 {
		return middle
	}
	ordered := slices.Clone(items)
	slices.SortStableFunc(ordered, func(a, b T) int { return cmp.Compare(figure(a), figure(b)) })
	return ordered[(len(ordered)-1)/2]
}

// Mean returns the mean of values; not a number for none.
func Mean(values []float64) float64 {
	return sum(values) / float64(len(values))
}

func sum(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum
}
