package result

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/base/packed"
)

func TestDistribute(t *testing.T) {
	assert.Equal(t, Distribution{}, Distribute(nil))
	assert.Equal(t, Distribution{Min: 3, Median: 3, Mean: 3, P99: 3, Max: 3}, Distribute([]float64{3}))
	assert.Equal(t, Distribution{Min: 1, Median: 2.5, Mean: 4, P99: 10, Max: 10}, Distribute([]float64{10, 1, 2, 3}))
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	assert.Equal(t, Distribution{Min: 1, Median: 50.5, Mean: 50.5, P99: 99, Max: 100}, Distribute(hundred))
}

// Partial and invalid samples are kept and not summarised; suspect ones are.
func TestSummarise(t *testing.T) {
	of := func(seconds float64, v Grade, partial bool) Sample {
		return Sample{Seconds: seconds, Partial: partial, Quality: Quality{Grade: v}}
	}
	s := Summarise(packed.Of(
		of(1, Valid, false), of(100, Invalid, false), of(0.1, Suspect, true), of(2, Suspect, false), of(4, Valid, false),
	))
	require.NotNil(t, s)
	assert.Equal(t, 3, s.Samples)
	assert.Equal(t, 2.0, s.Seconds.Median)
	assert.Equal(t, 1.5, s.Spread)
	assert.Nil(t, Summarise(packed.Of(of(1, Invalid, false))))
}

func TestWarningOf(t *testing.T) {
	w := WarningOf("code", "it is not counted", hint.With(errors.New("refused"), "be root"))
	assert.Equal(t, Warning{Code: "code", Message: "it is not counted: refused", Hint: "be root"}, w)
}

func TestOneEach(t *testing.T) {
	assert.Equal(t, []Warning{
		{"other-run", "another run: PID 1; PID 2: a", "flock"},
		{"odd-machine", "a.b: empty", ""},
		{"odd-machine", "c: empty", ""},
		{"budget", "another run: PID 3", "flock"},
		{"other-run", "another run: PID 4", ""},
		{"other-run", "another", "flock"},
	}, OneEach([]Warning{
		{"other-run", "another run: PID 1", "flock"},
		{"odd-machine", "a.b: empty", ""},
		{"odd-machine", "c: empty", ""},
		{"budget", "another run: PID 3", "flock"},
		{"other-run", "another run: PID 4", ""},
		{"other-run", "another run: PID 2: a", "flock"},
		{"other-run", "another", "flock"},
	}))
}

// Differences of readings have the digits of a clock, and no others.
func TestRoundSeconds(t *testing.T) {
	before, after := 1.2, 1.3
	steal := after - before
	s := Sample{Seconds: 0.30000000000000004, Quality: Quality{Signals: Signals{StealSeconds: &steal}}}
	require.NotEqual(t, 0.1, steal)
	s.RoundSeconds()
	assert.Equal(t, 0.3, s.Seconds)
	assert.Equal(t, 0.1, steal)
	assert.Equal(t, 1.878621445, Nanoseconds(1.8786214449999998))
}
