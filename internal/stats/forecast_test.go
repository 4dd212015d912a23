package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnnounced(t *testing.T) {
	for estimate, want := range map[float64]int{0: 0, 1: 1, 7: 7, 72: 80, 81: 90, 200: 200, 201: 300} {
		assert.Equal(t, want, announced(estimate), "%v", estimate)
	}
}

// For any samples, the first interval comes exactly when it was forecast: with two judged figures after 9, 11 and 14
// rounds of 2, 8 and 38 cells.
func TestFirstInterval(t *testing.T) {
	for cells, want := range map[int]int{2: 9, 8: 11, 38: 14} {
		d := design(1, cells)
		d.Comparisons = 2 * cells
		r := newRace(t, d)
		n := &noise{seconds: []float64{1, 1.3, 0.2, 7, 1.1, 0.9, 1, 1, 3, 1, 0.8, 1.7, 1.2}}
		for k := range want {
			v := r.Verdicts(2)[1]
			require.Equal(t, &Forecast{Kind: FirstInterval, Rounds: want - k, Seconds: 2 * float64(want-k)}, v.Forecast)
			require.False(t, v.Typical.Bounded())
			runRound(t, r, n, nil)
		}
		assert.True(t, r.Verdicts(0)[1].Typical.Bounded())
	}
}

// Without a forecast of a decision, there is one of what more rounds could find.
func TestResolution(t *testing.T) {
	e := Effect{Ratio: 1.01, Lo: 1.01 * math.Exp(-0.1), Hi: 1.01 * math.Exp(0.1)}
	assert.Equal(t, &Forecast{Kind: Decision, Rounds: 90}, e.forecast(90, 10))
	f := e.forecast(91, 10)
	assert.Equal(t, Resolution, f.Kind)
	assert.Equal(t, 30, f.Rounds)
	assert.InDelta(t, 0.052, f.Resolution, 1e-9, "half of 10%, rounded up")
	assert.Nil(t, Effect{Ratio: 1, Hi: math.MaxFloat64}.forecast(math.Inf(1), 10))
}

func TestTotalForecast(t *testing.T) {
	total := newTotals(0.01, gridFor(0.02))
	for range 50 {
		total.add(1.2, 1)
	}
	assert.Equal(t, &Forecast{Kind: Decision, Rounds: 50}, total.forecast(), "the next look")
	total.interval = Effect{Lo: 0.8, Hi: 1.8}
	assert.Equal(t, &Forecast{Kind: Decision, Rounds: 300}, total.forecast())
}
