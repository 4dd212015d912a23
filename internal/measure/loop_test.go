package measure

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/result"
)

// bench is a fake experiment: each execution takes as long on a fake clock as the next of its durations says.
type bench struct {
	clock    time.Time
	takes    []time.Duration // the last one repeats
	executed int
	kept     []result.Sample
}

func (b *bench) body(context.Context) (result.Sample, error) {
	d := b.takes[min(b.executed, len(b.takes)-1)]
	b.clock = b.clock.Add(d)
	b.executed++
	return result.Sample{Seconds: d.Seconds()}, nil
}

func (b *bench) loop(l Loop) Loop {
	l.Now = func() time.Time { return b.clock }
	l.Watch = func() func(*result.Sample) {
		return func(s *result.Sample) { s.Quality.Verdict = result.Valid }
	}
	l.Keep = func(s result.Sample) error { b.kept = append(b.kept, s); return nil }
	return l
}

func run(t *testing.T, b *bench, l Loop) Outcome {
	t.Helper()
	out, err := b.loop(l).Run(context.Background(), b.body)
	require.NoError(t, err)
	assert.Equal(t, out.Samples, b.kept, "what is returned is what was kept")
	return out
}

func TestLoopTakesSamplesAfterTheWarmup(t *testing.T) {
	b := &bench{takes: []time.Duration{9 * time.Second, time.Second}}
	out := run(t, b, Loop{Samples: 3, Warmup: 1})
	require.Len(t, out.Samples, 3)
	require.Len(t, out.Warmups, 1)
	assert.Equal(t, 9.0, out.Warmups[0].Seconds)
	for i, s := range out.Samples {
		assert.Equal(t, i, s.Index)
		assert.Equal(t, 1.0, s.Seconds)
		assert.Equal(t, result.Valid, s.Quality.Verdict)
	}
	assert.Empty(t, out.Warnings)
	assert.False(t, out.Partial)
}

func TestLoopKeepsToItsBudget(t *testing.T) {
	b := &bench{takes: []time.Duration{time.Second}}
	out := run(t, b, Loop{Samples: 100, Warmup: 1, Budget: 3500 * time.Millisecond})
	assert.Len(t, out.Samples, 3)
	require.Len(t, out.Warnings, 1)
	assert.Equal(t, "budget", out.Warnings[0].Code)
}

// One sample is always taken; when the first execution has used the budget up, it is that sample, and not a warm-up.
func TestLoopWithTooLittleBudget(t *testing.T) {
	b := &bench{takes: []time.Duration{time.Minute}}
	out := run(t, b, Loop{Samples: 5, Warmup: 1, Budget: time.Second})
	assert.Equal(t, 1, b.executed)
	assert.Len(t, out.Samples, 1)
	assert.Empty(t, out.Warmups)
	require.Len(t, out.Warnings, 1)
	assert.Equal(t, "no-warmup", out.Warnings[0].Code)

	b = &bench{takes: []time.Duration{time.Minute}}
	out = run(t, b, Loop{Samples: 5, Budget: time.Second})
	assert.Len(t, out.Samples, 1)
}

// An interrupt keeps what was sampled, the sample in flight included.
func TestLoopInterrupted(t *testing.T) {
	for _, at := range []int{1, 2, 3} {
		b := &bench{takes: []time.Duration{time.Second}}
		ctx, cancel := context.WithCancel(context.Background())
		out, err := b.loop(Loop{Samples: 100, Warmup: 1}).Run(ctx, func(ctx context.Context) (result.Sample, error) {
			s, err := b.body(ctx)
			if b.executed == at {
				cancel()
				s.Partial = true
			}
			return s, err
		})
		require.NoError(t, err)
		assert.True(t, out.Partial)
		assert.Equal(t, at, b.executed)
		require.NotEmpty(t, out.Samples)
		assert.True(t, out.Samples[len(out.Samples)-1].Partial)
		assert.Equal(t, out.Samples, b.kept)
		assert.Empty(t, out.Warnings)
	}
}

// With a duration the body is told when the time is over, and that is not an interrupt.
func TestLoopForADuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // whose time passes while all wait, however slow the machine is
		b := &bench{takes: []time.Duration{time.Second}}
		out, err := b.loop(Loop{Samples: 1, Duration: 20 * time.Millisecond}).Run(context.Background(),
			func(ctx context.Context) (result.Sample, error) {
				if b.executed == 3 {
					<-ctx.Done()
					return result.Sample{Partial: true}, nil
				}
				return b.body(ctx)
			})
		require.NoError(t, err)
		assert.Len(t, out.Samples, 4)
		assert.True(t, out.Samples[3].Partial)
		assert.False(t, out.Partial)
	})
}

func TestLoopReturnsErrorsWithWhatItHas(t *testing.T) {
	broken := errors.New("broken")
	b := &bench{takes: []time.Duration{time.Second}}
	out, err := b.loop(Loop{Samples: 5}).Run(context.Background(), func(ctx context.Context) (result.Sample, error) {
		if b.executed == 2 {
			return result.Sample{}, broken
		}
		return b.body(ctx)
	})
	require.ErrorIs(t, err, broken)
	assert.Len(t, out.Samples, 2)

	b = &bench{takes: []time.Duration{time.Second}}
	loop := b.loop(Loop{Samples: 5})
	loop.Keep = func(result.Sample) error { return broken }
	out, err = loop.Run(context.Background(), b.body)
	require.ErrorIs(t, err, broken)
	assert.Len(t, out.Samples, 1, "what could not be stored is still shown")
}
