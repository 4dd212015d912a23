package stats

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHolm(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{nil, []float64{}},
		{[]float64{0.03}, []float64{0.03}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.9, 0.6}, []float64{1, 1}},
	} {
		assert.InDeltaSlice(t, c.want, holm(c.p), 1e-12)
	}
}

// Pairs are found that differ from one another, whatever the baseline is.
func TestPairs(t *testing.T) {
	for baseline := range 3 {
		d := design(3, 4)
		d.Baseline, d.Rounds = baseline, 80
		r := newRace(t, d)
		run(t, r, quiet(6), []float64{1, 1.03, 1, 1.03}, 60)
		pairs := r.Pairs()
		assert.Len(t, pairs, 6)
		for _, pair := range pairs {
			want := 1.0
			if (pair.A+pair.B)%2 == 1 {
				want = 1.03
				if pair.B%2 == 0 {
					want = 1 / want
				}
			}
			assert.InDelta(t, want, pair.Ratio, 0.005, "baseline %d: %+v", baseline, pair)
			assert.Equal(t, want != 1, pair.P <= d.Alpha, "baseline %d: %+v", baseline, pair)
		}
	}
}

// All pairs of equal cells: few runs have any false call.
func TestPairsOfEqualCells(t *testing.T) {
	const replays = 60
	all := traces(t, "*.seq?.*.csv")
	wrong := 0
	for k := range replays {
		d := design(uint64(k), 6)
		d.Rounds = 50
		r := newRace(t, d)
		run(t, r, start(all, k, replays), nil, 60)
		for _, pair := range r.Pairs() {
			if pair.P <= d.Alpha {
				wrong++
				break
			}
		}
	}
	t.Logf("%d of %d runs wrong", wrong, replays)
	assert.LessOrEqual(t, wrong, 3)
}
