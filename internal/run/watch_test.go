package run

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/experiment"
	"gorun/internal/result"
)

// watched returns a driver that watches for a number of seconds of a clock that advances by a second with each
// sample; 0: until an interrupt. take takes each sample.
func watched(seconds float64, take sampleFunc) *driver {
	clock := time.Unix(1e9, 0)
	run := &result.Run{Samples: []result.Sample{}}
	d := &driver{
		plan:    plan{schedule: experiment.Schedule{Order: experiment.Watch}, cells: make([]experiment.Cell[any], 1), run: run},
		session: &session{env: Env{Now: func() time.Time { return clock }}, run: run},
		options: &Options{resultFlags: resultFlags{quiet: true}, warmup: 3},
		order:   &watch{design{duration: seconds}},
	}
	d.takeSample = func(ctx context.Context, cell int) (result.Sample, error) {
		clock = clock.Add(time.Second)
		return take(ctx, cell)
	}
	return d
}

// A watch has no warm-up and no number of samples; it ends after its duration.
func TestWatchForDuration(t *testing.T) {
	d := watched(5, func(context.Context, int) (result.Sample, error) { return result.Sample{Seconds: 1}, nil })
	require.NoError(t, d.sample(t.Context()))
	assert.Len(t, d.session.run.Samples, 5)
	assert.Empty(t, d.session.run.Warmups)
	assert.Empty(t, d.session.run.Warnings)
}

// An interrupt is a normal end, and a sample that it cut short is kept only if the sampler allows it.
func TestWatchUntilInterrupted(t *testing.T) {
	for name, worth := range map[string]bool{"kept": true, "not worth keeping": false} {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			taken := 0
			d := watched(0, func(ctx context.Context, _ int) (s result.Sample, err error) {
				if taken++; taken == 4 {
					interrupt()
					if !worth {
						err = ctx.Err()
					}
				}
				return s, err
			})
			require.NoError(t, d.sample(ctx))
			assert.False(t, d.session.run.Partial)
			assert.Len(t, d.session.run.Samples, map[bool]int{true: 4, false: 3}[worth])
		})
	}
}
