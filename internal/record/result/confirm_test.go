package result

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/stats"
)

// What confirming samples say follows from the interval of the share, at a half of it.
func TestConfirmed(t *testing.T) {
	nice := &Candidate{Cell: 1, Axis: AxisNice, Value: "-20"}
	share := func(lo, hi *float64) *stats.Shift { return &stats.Shift{Lo: lo, Hi: hi} }
	for _, c := range []struct {
		of     Confirmed
		result string
		words  string
	}{
		{Confirmed{Share: share(new(0.5), new(1.01))}, ConfirmedCause, "confirmed: --nice -20 for the slower one takes away 50% to 101% of the difference"},
		{Confirmed{Share: share(new(0.92), nil)}, ConfirmedCause, "confirmed: --nice -20 for the slower one takes away at least 92% of the difference"},
		{Confirmed{Share: share(new(0.92), new(27.9))}, ConfirmedCause, "confirmed: --nice -20 for the slower one takes away at least 92% of the difference"},
		{Confirmed{Share: share(new(-2.5), new(2.5)), Rounds: 9}, ConfirmedUnknown, "not known whether it is the cause: --nice -20 for the slower one takes away an unknown share of the difference, after 9 rounds"},
		{Confirmed{Share: share(new(-0.03), new(0.499))}, ConfirmedNot, "not confirmed: --nice -20 for the slower one takes away −3% to 50% of the difference"},
		{Confirmed{Share: share(nil, new(0.1))}, ConfirmedNot, "not confirmed: --nice -20 for the slower one takes away at most 10% of the difference"},
		{Confirmed{Share: share(new(0.499), new(0.5)), Rounds: 100}, ConfirmedUnknown, "not known whether it is the cause: --nice -20 for the slower one takes away 50% to 50% of the difference, after 100 rounds"},
		{Confirmed{Rounds: 1, Why: "the run ended before"}, ConfirmedUnknown, "not known whether it is the cause, after 1 round; the run ended before"},
	} {
		c.of.Candidate = nice
		c.of.Conclude()
		assert.Equal(t, c.result, c.of.Result, c.words)
		assert.Equal(t, c.words, c.of.String())
		assert.Equal(t, c.result == ConfirmedCause || c.result == ConfirmedNot, c.of.Answered(), c.words)
	}
	untried := Confirmed{Result: ConfirmedUntried, Why: "no flag of gorun sets this cause alone"}
	assert.Equal(t, "not confirmed: no flag of gorun sets this cause alone", untried.String())
	assert.Equal(t, "--cpus '0 1'", Candidate{Axis: AxisCPUs, Value: "0 1"}.String())
}

// Confirming samples are counted by themselves, and are no part of the header.
func TestConfirmingSamples(t *testing.T) {
	run := &Run{}
	run.Take(Sample{Slot: &Slot{}})
	confirms := Sample{Slot: &Slot{Confirms: true}}
	assert.Zero(t, run.Index(&confirms))
	run.Take(confirms)
	assert.Equal(t, []int{1, 1, 2, 1, 1}, []int{run.Samples.Len(), run.Confirming.Len(), run.Taken(), run.Index(&confirms), run.Index(&Sample{})})
	assert.Zero(t, run.Header().Taken())
}
