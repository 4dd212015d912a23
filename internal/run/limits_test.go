package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/experiment"
	"gorun/internal/hint"
)

func TestAffordable(t *testing.T) {
	has := func(string) bool { return true }
	need := experiment.Resources{Least: 1000, LeastBy: []string{"--limit"}}
	require.NoError(t, (&Options{has: has}).affordable(86, 0, need))
	err := (&Options{has: has, samples: 80, warmup: 7}).affordable(87, 0, need)
	require.EqualError(t, err, "this would take 1.01 days or more: --limit, --samples 80, --warmup 7")
	assert.True(t, hint.IsUsage(err))
	assert.Contains(t, hint.Of(err), "--budget")
	require.NoError(t, (&Options{has: has, budgeted: true}).affordable(87, 0, need), "it was asked for")
	err = (&Options{has: func(string) bool { return false }}).affordable(1e12, 0, experiment.Resources{})
	require.Error(t, err, "any sample takes some time")
	assert.NotContains(t, hint.Of(err), "--budget", "there is none")
	require.ErrorContains(t, (&Options{has: has}).affordable(1, 1e5, experiment.Resources{}), "--duration")
}

func TestExecutions(t *testing.T) {
	for _, c := range []struct {
		s    experiment.Schedule
		want float64
	}{
		{experiment.Schedule{Order: experiment.InOrder, Samples: 5}, 3 * (5 + 2)},
		{experiment.Schedule{Order: experiment.Shuffled, Samples: 5}, 3 * (5 + 2)},
		{experiment.Schedule{Order: experiment.InOrder, Samples: 5, Duration: 9}, 3 * (1 + 2)},
		{experiment.Schedule{Order: experiment.Blocks, Samples: 5}, 3*5 + 2},
		{experiment.Schedule{Order: experiment.Blocks}, 3*1 + 2},
		{experiment.Schedule{Order: experiment.Rows, Samples: 5}, 3*5 + 2},
		{experiment.Schedule{Order: experiment.Pairs, Samples: 5}, 2 * 5},
		{experiment.Schedule{Order: experiment.Watch}, 1},
	} {
		assert.InDelta(t, c.want, executions(c.s, 3, 2), 0, "%+v", c.s)
	}
	assert.Positive(t, executions(experiment.Schedule{Samples: 1 << 62}, 1<<20, 1<<62), "no overflow")
}
