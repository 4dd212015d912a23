package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// falseCalls returns the share of all choices of signs, equally likely under a random order, that is called a
// difference.
func falseCalls(sizes []float64, called func([]float64) bool) float64 {
	sets, signed := 1<<len(sizes), make([]float64, len(sizes))
	return float64(count(sets, func(set int) bool {
		for i, size := range sizes {
			signed[i] = size * float64(1-2*(set>>i&1))
		}
		return called(signed)
	})) / float64(sets)
}

// Exactly, over all signs: for any sizes, chance is called a difference with a probability of at most alpha.
func TestDiffersIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Float64Range(0.001, 1), 1, 12).Draw(t, "sizes")
		if rapid.Bool().Draw(t, "rare") {
			sizes[0] *= 1000
		}
		alpha := rapid.Float64Range(0.001, 0.5).Draw(t, "alpha")
		require.LessOrEqual(t, falseCalls(sizes, func(d []float64) bool { return differ(d, alpha, 0) }), alpha)
	})
}

// The normal approximation is not exact: eight equal differences have one sign by chance more often than it says.
func TestNormalDiffersIsNotExact(t *testing.T) {
	const alpha = 0.005
	normal := func(d []float64) bool {
		sum, squares := 0.0, 0.0
		for _, x := range d {
			sum, squares = sum+x, squares+x*x
		}
		return math.Erfc(math.Abs(sum)/math.Sqrt(2*squares)) <= alpha
	}
	sizes := []float64{1, 1, 1, 1, 1, 1, 1, 1}
	assert.Greater(t, falseCalls(sizes, normal), alpha)
	assert.LessOrEqual(t, falseCalls(sizes, func(d []float64) bool { return differ(d, alpha, 0) }), alpha)
}

func TestDiffers(t *testing.T) {
	alike := func(n int, d float64) []float64 { return slices.Repeat([]float64{d}, n) }
	for _, c := range []struct {
		name string
		d    []float64
		want bool
	}{
		{"none", nil, false},
		{"zeros", alike(100, 0), false},
		{"seven rounds are too few", alike(7, 0.1), false},
		{"eight are enough", alike(8, 0.1), true},
		{"less in the cell", alike(8, -0.1), true},
		{"too small to matter", alike(1000, 0.02), false},
		{"not too small", alike(1000, 0.0201), true},
		{"one large difference", append(alike(50, 0), 30), false},
		{"not known", append(alike(50, 0.1), math.NaN()), false},
	} {
		assert.Equal(t, c.want, differ(c.d, 0.05, 0.02), c.name)
	}
}

// In random order the disturbances of the recordings affected both cells equally; one after the other, they did not.
func TestRecordedDisturbances(t *testing.T) {
	of := map[string]func(recorded) float64{
		"others": func(r recorded) float64 { return r.others },
		"canary": func(r recorded) float64 { return math.Log(r.canary) },
	}
	random, blocked := 0, 0
	for _, recording := range recordings(t, "*.ab2.*.csv") {
		for _, size := range of {
			var inRandomOrder, oneAfterTheOther []float64
			for k, p := range labelled(recording) {
				inRandomOrder = append(inRandomOrder, size(p[1])-size(p[0]))
				oneAfterTheOther = append(oneAfterTheOther, size(recording[len(recording)/2+k])-size(recording[k]))
			}
			if differ(inRandomOrder, 0.05, 0.02) {
				random++
			}
			if differ(oneAfterTheOther, 0.05, 0.02) {
				blocked++
			}
		}
	}
	t.Logf("called: %d in random order, %d one after the other", random, blocked)
	assert.Zero(t, random)
	assert.Greater(t, blocked, 1)
}

func differ(differences []float64, alpha, material float64) bool {
	var d Disturbance
	for _, difference := range differences {
		d.Add(difference)
	}
	return d.Differs(alpha, material)
}
