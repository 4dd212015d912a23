package numa

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/result"
)

// sampleOf returns a sample with this number of moves between nodes.
func sampleOf(t require.TestingT, moves uint64, seconds float64) result.Sample {
	v := result.Numa{Migrations: &result.Migrations{Total: moves, CrossNode: moves}}
	return result.Sample{Seconds: seconds, Values: result.FiguresOf(&v)}
}

// samplesOf returns samples of a row whose seconds are 100, plus perMove for each move, plus noise with heavy tails.
func samplesOf(t require.TestingT, r *rand.Rand, n int, perMove, noise float64) []result.Sample {
	samples := make([]result.Sample, n)
	for i := range samples {
		moves := uint64(r.IntN(2000))
		e := r.NormFloat64()
		if r.IntN(20) == 0 {
			e *= 10
		}
		samples[i] = sampleOf(t, moves, 100+perMove*float64(moves)+noise*e)
	}
	return samples
}

// The RFC's magnitudes: 1000 moves of 10 ms each are a tenth of 110 s. The interval contains the true cost about as
// often as its level says, and is narrow enough to be useful.
func TestMoveCostIsFound(t *testing.T) {
	const runs, perMove = 150, 0.01
	held := 0
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 0))
		samples := samplesOf(t, r, 64, perMove, 2)
		each, lo, hi, ok := MoveCost(samples)
		require.True(t, ok)
		require.LessOrEqual(t, lo, each)
		require.LessOrEqual(t, each, hi)
		truth := 100 * perMove / median(samples)
		if lo <= truth && truth <= hi {
			held++
		}
		require.InDelta(t, truth, each, 0.25*truth, "seed %d", seed)
		require.Positive(t, lo, "seed %d", seed)
	}
	assert.InDelta(t, 0.95*runs, held, 4*2.7, "four standard deviations of a binomial")
}

func median(samples []result.Sample) float64 {
	seconds := make([]float64, len(samples))
	for i, s := range samples {
		seconds[i] = s.Seconds
	}
	return result.Distribute(seconds).Median
}

// With noise alone the interval contains 0, except in one run of twenty.
func TestMoveCostOfNoise(t *testing.T) {
	const runs = 150
	held := 0
	for seed := range uint64(runs) {
		_, lo, hi, ok := MoveCost(samplesOf(t, rand.New(rand.NewPCG(seed, 1)), 40, 0, 2))
		require.True(t, ok)
		if lo <= 0 && 0 <= hi {
			held++
		}
	}
	assert.InDelta(t, 0.95*runs, held, 4*2.7)
}

func TestMoveCostTakesWhatCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 0))
	samples := samplesOf(t, r, 30, 0.01, 1)
	each, lo, hi, ok := MoveCost(samples)
	require.True(t, ok)

	spoilt := sampleOf(t, 1, 9999)
	spoilt.Partial = true
	samples = append(samples, spoilt)
	spoilt = sampleOf(t, 1, 9999)
	spoilt.Quality.Verdict = result.Invalid
	samples = append(samples, spoilt)
	lost := result.FiguresOf(&result.Numa{Migrations: &result.Migrations{CrossNode: 1, Lost: 5}})
	none := result.FiguresOf(&result.Numa{})
	samples = append(samples, result.Sample{Seconds: 9999, Values: lost}, result.Sample{Seconds: 9999, Values: none})
	again, loAgain, hiAgain, _ := MoveCost(samples)
	assert.Equal(t, []float64{each, lo, hi}, []float64{again, loAgain, hiAgain})

	_, _, _, ok = MoveCost(samples[:4])
	assert.False(t, ok, "too few")
	_, _, _, ok = MoveCost(nil)
	assert.False(t, ok)
	var same []result.Sample
	for range 40 {
		same = append(same, sampleOf(t, 3, r.Float64()))
	}
	_, _, _, ok = MoveCost(same)
	assert.False(t, ok, "all moved equally often")
	_, found := CostFinding("[00]", same)
	assert.False(t, found)
}

func TestCostFinding(t *testing.T) {
	var samples []result.Sample
	for i := range 21 {
		samples = append(samples, sampleOf(t, uint64(100*i), 100+float64(i)))
	}
	f, ok := CostFinding("[08]", samples)
	require.True(t, ok)
	assert.Equal(t, "cross-node-cost", f.Code)
	assert.InDelta(t, 100*10/110.0, f.Value, 1e-9)
	assert.Equal(t, "[08]: a sample moved to another node 1000 times, which cost 9.1% of its time (9.1% to 9.1%; samples "+
		"with more moves against samples with fewer).", f.Message)

	f, ok = CostFinding("[08]", samplesOf(t, rand.New(rand.NewPCG(1, 1)), 40, 0, 2))
	require.True(t, ok)
	assert.Contains(t, f.Message, "the cost is within the noise")
}

// By the formula for ties in Kendall, "Rank Correlation Methods": n(n-1)(2n+5), minus the same term for each tie,
// divided by 18.
func TestKendallVariance(t *testing.T) {
	assert.InDelta(t, 4*3*13/18.0, kendallVariance([]float64{3, 1, 2, 4}), 1e-12)
	assert.InDelta(t, (4*3*13-2*1*9)/18.0, kendallVariance([]float64{1, 2, 1, 3}), 1e-12)
	assert.Zero(t, kendallVariance([]float64{5, 5, 5}))
}

// The slope follows the data: it is invariant to a shift, scales with a factor, and adds a trend.
func TestTheilSenProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(12, 40).Draw(t, "n")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = float64(r.IntN(50)), r.NormFloat64()
		}
		slope, lo, hi, ok := theilSen(x, y)
		require.True(t, ok)
		trend := rapid.Float64Range(-3, 3).Draw(t, "trend")
		z := make([]float64, n)
		for i := range z {
			z[i] = 2*y[i] + trend*x[i] + 17
		}
		slope2, lo2, hi2, ok := theilSen(x, z)
		require.True(t, ok)
		for i, want := range []float64{2*slope + trend, 2*lo + trend, 2*hi + trend} {
			require.InDelta(t, want, []float64{slope2, lo2, hi2}[i], 1e-9)
		}
		for i := range z {
			z[i] = -y[i]
		}
		slope2, lo2, hi2, ok = theilSen(x, z)
		require.True(t, ok)
		require.Equal(t, []float64{-slope, -hi, -lo}, []float64{slope2, lo2, hi2}, "negation swaps the ends")
	})
}
