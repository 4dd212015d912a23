package stats

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{5, 1}, 3},
		{[]float64{9, 1, 2}, 2},
		{[]float64{1, 2, 4, 8}, 3},
	} {
		before := append([]float64(nil), c.values...)
		assert.Equal(t, c.want, Median(c.values), "%v", c.values)
		assert.Equal(t, before, c.values, "they keep their order")
	}
}

func TestMiddle(t *testing.T) {
	length := func(s string) int { return len(s) }
	assert.Empty(t, Middle(nil, length))
	assert.Equal(t, "bb", Middle([]string{"ccc", "a", "bb"}, length))
	assert.Equal(t, "bb", Middle([]string{"dddd", "ccc", "a", "bb"}, length), "the lower of two")
	assert.Equal(t, "yy", Middle([]string{"xx", "yy", "zz"}, length), "equals keep their order")
}
