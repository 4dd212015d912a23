package matrix_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
)

// A cell that was given up stays so, even if other samples of the same round are valid.
func TestFaultsStay(t *testing.T) {
	invalid := result.Sample{Quality: result.Quality{Grade: result.Invalid, Reasons: []string{"torn"}}}
	for _, after := range []result.Sample{invalid, {Quality: result.Quality{Grade: result.Valid}}} {
		var f matrix.Faults
		for range matrix.GivenUpAfter {
			assert.False(t, f.GivenUp(1))
			f.Add(1, invalid)
		}
		f.Add(1, after)
		assert.True(t, f.GivenUp(1))
		assert.Equal(t, 1, f.Left(2))
	}
}
