package run

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gorun/internal/judge/matrix"
)

// What is given decides, then the schedule of the experiment, then the default of 60 s for 5 samples; and the default budget does not
// cut what was asked for.
func TestSettleSchedule(t *testing.T) {
	for name, c := range map[string]struct {
		given    []string
		schedule matrix.Schedule
		samples  int
		budget   time.Duration
		takes    int // samples of the schedule; 0: as many as are needed
	}{
		"nothing":                             {nil, matrix.Schedule{}, 5, time.Minute, 5},
		"samples":                             {[]string{"samples"}, matrix.Schedule{Budget: 9}, 5, 0, 5},
		"samples and a budget":                {[]string{"samples", "budget"}, matrix.Schedule{}, 5, time.Minute, 5},
		"a duration":                          {nil, matrix.Schedule{Duration: 3}, 5, 0, 5},
		"a duration and a budget":             {[]string{"budget"}, matrix.Schedule{Duration: 3}, 5, time.Minute, 5},
		"the schedule's budget":               {nil, matrix.Schedule{Budget: 9}, 5, 9 * time.Second, 5},
		"the schedule's samples":              {nil, matrix.Schedule{Samples: 64}, 64, 0, 64},
		"samples, not the schedule's":         {[]string{"samples"}, matrix.Schedule{Samples: 64}, 5, 0, 5},
		"blocks":                              {nil, matrix.Schedule{Order: matrix.RandomBlocks}, 5, time.Minute, 5},
		"open blocks":                         {nil, matrix.Schedule{Order: matrix.RandomBlocks, Open: true}, 5, time.Minute, 0},
		"open blocks, samples":                {[]string{"samples"}, matrix.Schedule{Order: matrix.RandomBlocks, Open: true}, 5, 0, 5},
		"a precision":                         {[]string{"precision"}, matrix.Schedule{Order: matrix.RandomBlocks}, 5, time.Minute, 0},
		"a precision, the schedule's samples": {[]string{"precision"}, matrix.Schedule{Order: matrix.RandomBlocks, Samples: 64}, 5, time.Minute, 0},
		"pairs":                               {nil, matrix.Schedule{Order: matrix.Pairs, First: []int{0, 1}}, 5, time.Minute, 2},
	} {
		o := Options{samples: 5, budget: time.Minute, given: func(flag string) bool { return slices.Contains(c.given, flag) }}
		o.settleBudget(o.given("samples"))
		o.settleSchedule(&c.schedule)
		assert.Equal(t, c.samples, o.samples, name)
		assert.Equal(t, c.budget, o.budget, name)
		assert.Equal(t, c.takes, c.schedule.Samples, name)
		assert.Equal(t, slices.Contains(c.given, "budget"), o.budgeted, name)
	}
}

// A file's values hold where no flag is given, and a budget in it is one that was given.
func TestSettleSpec(t *testing.T) {
	spec := matrix.Spec{Budget: time.Hour, Samples: new(7), Warmup: new(2), Margin: new(0.1)}
	o := Options{budget: time.Minute, warmup: -1, margin: 0.02, given: func(flag string) bool { return flag == "margin" }}
	o.settleSpec(spec)
	assert.Equal(t, 7, o.samples)
	assert.Equal(t, 2, o.warmup)
	assert.InDelta(t, 0.02, float64(o.margin), 1e-9)
	assert.Zero(t, o.budget, "a number of samples is not cut")
	assert.False(t, o.budgeted)
	spec.Samples = nil
	o = Options{budget: time.Minute, given: func(string) bool { return false }}
	o.settleSpec(spec)
	assert.Equal(t, time.Hour, o.budget)
	assert.True(t, o.budgeted)
}
