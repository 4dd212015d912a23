package measure

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The canary makes every one of its steps: the generator can jump over them, by squaring the step.
func TestCanary(t *testing.T) {
	multiply, add := uint64(6364136223846793005), uint64(1442695040888963407)
	for n := canarySteps; n > 1; n /= 2 {
		multiply, add = multiply*multiply, (multiply+1)*add
	}
	for _, x := range []uint64{0, 1, 20260102} {
		seconds, end := canary(x)
		assert.Equal(t, x*multiply+add, end)
		assert.Positive(t, seconds)
	}
}
