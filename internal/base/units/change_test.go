package units

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// An interval is in per cent while both its ends are within a factor of 2, otherwise in factors. Its ends are rounded
// outward.
func TestIntervalOfARatio(t *testing.T) {
	none := math.MaxFloat64
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{1.011, 1.029, "+1.1% to +2.9%"},
		{0.9711, 0.9889, "−2.9% to −1.1%"},
		{1, 1.03, "0.0% to +3.0%"},
		{0.888, 1.339, "−12% to +34%"},
		{0.9995, 1.0204, "−0.1% to +2.1%"},
		{1.05, 1.05, "+5.0%"},
		{1.85, 2.09, "1.8–2.1 × as long"},
		{1.42, 2, "1.4–2.0 × as long"},
		{2.71, 4.79, "2.7–4.8 × as long"},
		{0.2402, 0.268, "0.24–0.27 × as long"},
		{0.1701, 21.9, "0.17–22 × as long"},
		{214.2, 220.1, "214–221 × as long"},
		{3.051, 3.149, "3.05–3.15 × as long"},
		{3, 3, "3.00 × as long"},
		{0, 1.26, "at most +26%"},
		{0, 4, "at most 4.0 × as long"},
		{0.83, none, "at least −17%"},
		{0.1, none, "at least 0.10 × as long"},
		{0, none, "not bounded yet"},
	} {
		assert.Equal(t, c.want, Changes{Step: 0.001}.Interval(c.lo, c.hi), "%v to %v", c.lo, c.hi)
	}
	assert.Equal(t, "+1% to +3%", Changes{Step: 0.01}.Interval(1.011, 1.029), "by the steps of the grid")
	assert.Equal(t, "2.7–4.8 × as much", Changes{Step: 0.001, Amount: true}.Interval(2.71, 4.79))
}

func TestChange(t *testing.T) {
	for ratio, want := range map[float64]string{
		1: "0.0%", 1.02: "+2.0%", 0.98: "−2.0%", 1.93: "+93%", 2: "2.00 × as long", 0.26: "0.26 × as long", 46.36: "46.4 × as long",
	} {
		assert.Equal(t, want, Changes{Step: 0.001}.Ratio(ratio))
	}
	assert.Equal(t, "3.00 × as much", Changes{Step: 0.001, Amount: true}.Ratio(3))
}
