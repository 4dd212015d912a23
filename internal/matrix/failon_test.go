package matrix_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/matrix"
	"gorun/internal/stats"
)

func TestFailOn(t *testing.T) {
	verdict := func(kind stats.Kind, lo, hi float64) stats.Verdict {
		return stats.Verdict{Kind: kind, Typical: stats.Effect{Ratio: 1, Lo: lo, Hi: hi}}
	}
	slower, much := verdict(stats.Slower, 1.02, 1.09), verdict(stats.Slower, 1.06, 1.09)
	faster, less := verdict(stats.Faster, 0.5, 0.98), verdict(stats.Faster, 0.5, 0.9)
	same, mixed := verdict(stats.Same, 0.99, 1.01), verdict(stats.Mixed, 0.99, 1.01)
	unknown := verdict(stats.CantTell, 0, math.MaxFloat64)
	confounded, invalid := verdict(stats.Confounded, 1.2, 1.3), stats.InvalidVerdict("elsewhere")
	all := []stats.Verdict{slower, much, faster, less, same, mixed, unknown, confounded, invalid}
	for text, want := range map[string][]stats.Verdict{
		"slower":               {slower, much},
		"slower>5%":            {much},
		"slower>0.05":          {much},
		"faster":               {faster, less},
		"faster>5%":            {less},
		"difference":           {slower, much, faster, less, mixed},
		"difference>5%":        {much, less},
		"undecided":            {unknown, confounded, invalid},
		"slower>5%, undecided": {much, unknown, confounded, invalid},
	} {
		var f matrix.FailOn
		require.NoError(t, f.Set(text))
		var failed []stats.Verdict
		for _, v := range all {
			if f.Fails(v) {
				failed = append(failed, v)
			}
		}
		assert.Equal(t, want, failed, text)
		var again matrix.FailOn
		require.NoError(t, again.Set(f.String()), "what is shown can be typed")
		assert.Equal(t, f, again)
	}
	for _, text := range []string{"", "nosuch", "slower>", "slower>x", "slower>200%", "undecided>5%", "slower,"} {
		assert.Error(t, new(matrix.FailOn).Set(text), text)
	}
	assert.False(t, matrix.FailOn(nil).Fails(slower))
}
