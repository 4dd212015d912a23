package result

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The first sample that has a figure defines the unit of the run, also where a later sample has another one.
func TestUnits(t *testing.T) {
	printed := func(unit string) Sample {
		s := Sample{}
		s.Printed("metric", unit)
		return s
	}
	run := &Run{}
	run.Take(Sample{})
	none := printed("") // as of a program that prints 0
	none.Quality.Grade = Invalid
	run.Take(none)
	for _, c := range []struct {
		unit string
		want float64
	}{{"ms", 1}, {"us", 1e-3}, {"s", 1e3}} {
		s := printed(c.unit)
		require.NoError(t, s.In(run.Units))
		assert.InEpsilon(t, c.want, s.Factor("metric"), 1e-12)
		run.Take(s)
	}
	assert.Equal(t, map[string]string{"metric": "ms"}, run.Units)
	for unit, says := range map[string]string{"": "the unit of metric changes: a figure in no unit cannot be compared with one in ms", "x": "in x"} {
		s := printed(unit)
		require.ErrorContains(t, s.In(run.Units), says)
	}
	old := Sample{}
	require.NoError(t, old.In(run.Units))
	assert.InEpsilon(t, 1.0, old.Factor("metric"), 0, "a journal without units is not converted")

	other, err := run.In(map[string]string{"metric": "us"})
	require.NoError(t, err)
	assert.InEpsilon(t, 1e6, other.Samples.At(4).Factor("metric"), 1e-12)
	assert.InEpsilon(t, 1e3, run.Samples.At(4).Factor("metric"), 1e-12, "the run itself is as it was")
	_, err = run.In(map[string]string{"metric": "MB"})
	require.ErrorContains(t, err, "cannot be compared")
}
