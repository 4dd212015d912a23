package stats

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The first is Fisher's own example, the lady tasting tea. The others are of R's fisher.test, or follow by counting.
func TestFisher(t *testing.T) {
	for _, c := range []struct {
		a, n, b, m int
		want       float64
	}{
		{3, 4, 1, 4, 34.0 / 70},
		{4, 4, 0, 4, 2.0 / 70},
		{2, 17, 10, 13, 0.0005367},
		{0, 20, 0, 20, 1},
		{20, 20, 20, 20, 1},
		{0, 0, 3, 4, 1},
		{0, 0, 0, 0, 1},
	} {
		assert.InDelta(t, c.want, Fisher(c.a, c.n, c.b, c.m), 1e-6, "%+v", c)
		assert.InDelta(t, Fisher(c.b, c.m, c.a, c.n), Fisher(c.a, c.n, c.b, c.m), 1e-9, "%+v", c)
	}
	assert.InDelta(t, 1, Fisher(50_000, 100_000, 50_000, 100_000), 1e-4)
}
