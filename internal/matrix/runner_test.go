package matrix_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/matrix"
	"gorun/internal/result"
)

// rig is a runner with a clock that goes on by a second, or by what pace says, with each sample.
type rig struct {
	matrix.Runner
	run   *result.Run
	fake  fake
	pace  func(round int) time.Duration
	kept  []result.Sample
	drawn []result.Standing
}

// newRig goes on from the run's samples.
func newRig(t *testing.T, run *result.Run) *rig {
	t.Helper()
	board, err := matrix.NewBoard(run)
	require.NoError(t, err)
	require.NoError(t, board.Replay())
	r := &rig{run: run, pace: func(int) time.Duration { return time.Second }}
	clock := time.Unix(1e9, 0)
	r.Runner = matrix.Runner{
		Board: board, Now: func() time.Time { return clock },
		Draw: func(s result.Standing) { r.drawn = append(r.drawn, s) },
		Take: func(_ context.Context, slot result.Slot) (result.Sample, error) {
			clock = clock.Add(r.pace(slot.Round))
			return r.fake.take(run, slot), nil
		},
		Keep: func(s result.Sample) error { r.kept = append(r.kept, s); return nil },
	}
	return r
}

// stopAfter has ctx end within the sample of that number.
func (r *rig) stopAfter(samples int) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	take := r.Take
	r.Take = func(ctx context.Context, slot result.Slot) (result.Sample, error) {
		if len(r.run.Samples) == samples {
			cancel()
			return result.Sample{}, errors.New("was ended")
		}
		return take(ctx, slot)
	}
	return ctx
}

// No round begins that would not end within the budget. A round is 3 samples of a second.
func TestRunnerBudget(t *testing.T) {
	slowing := func(round int) time.Duration { return time.Duration(round+1) * time.Second }
	for name, c := range map[string]struct {
		budget float64 // seconds
		pace   func(int) time.Duration
		want   int // samples
	}{
		"to the second":             {9, nil, 9},
		"a second less":             {8, nil, 6},
		"a second more":             {10, nil, 9},
		"the first is completed":    {1, nil, 3},
		"the last one is the guess": {3 + 6 + 9 + 8, slowing, 9},
		"and it holds":              {3 + 6 + 9 + 9, slowing, 12},
	} {
		run := workers(2)
		run.Matrix.Budget = c.budget
		r := newRig(t, run)
		if c.pace != nil {
			r.pace = c.pace
		}
		partial, err := r.Run(t.Context())
		require.NoError(t, err, name)
		assert.False(t, partial, name)
		assert.Len(t, run.Samples, c.want, name)
	}
}

// A run goes on as if it had not been stopped: it ends the round in which it stood, its time goes on, and so does its
// budget.
func TestRunnerResumes(t *testing.T) {
	for name, c := range map[string]struct {
		stopped int     // after so many samples
		budget  float64 // of the resumed run
		want    int     // samples
	}{
		"between rounds, for one more":     {6, 9, 9},
		"between rounds, for no more":      {6, 8, 6},
		"within a round":                   {5, 5.5, 6},
		"within the first":                 {1, 0.5, 3},
		"the next round is a whole one":    {5, 8, 6},
		"the next round has its whole due": {5, 9, 9},
	} {
		run := workers(2)
		first := newRig(t, run)
		partial, err := first.Run(first.stopAfter(c.stopped))
		require.NoError(t, err, name)
		require.True(t, partial, name)
		require.Len(t, first.kept, c.stopped, name)

		run.Matrix.Budget = c.budget
		second := newRig(t, run)
		partial, err = second.Run(t.Context())
		require.NoError(t, err, name)
		assert.False(t, partial, name)
		require.Len(t, run.Samples, c.want, name)
		for i, s := range run.Samples {
			assert.Equal(t, i, s.Index, name)
			assert.InDelta(t, i+1, s.Elapsed, 1e-9, name)
		}
	}
}

func TestRunnerTakesWhatIsPlanned(t *testing.T) {
	run := workers(3)
	run.Matrix.Rounds = 4
	r := newRig(t, run)
	partial, err := r.Run(t.Context())
	require.NoError(t, err)
	assert.False(t, partial)
	assert.Len(t, run.Samples, 4*4)
	assert.Equal(t, run.Samples, r.kept)
	require.Len(t, r.drawn, 4*4, "before each sample")
	for i, s := range r.drawn {
		assert.Equal(t, i, s.Samples)
		assert.Equal(t, run.Cells[run.Samples[i].Cell].Name, s.Running)
	}
	again, err := matrix.NewBoard(run)
	require.NoError(t, err)
	require.NoError(t, again.Replay(), "each sample has its place")

	r = newRig(t, run)
	partial, err = r.Run(t.Context())
	require.NoError(t, err)
	assert.False(t, partial)
	assert.Empty(t, r.kept, "nothing was left to take")
}

func TestRunnerIsInterrupted(t *testing.T) {
	run := workers(2)
	r := newRig(t, run)
	partial, err := r.Run(r.stopAfter(4))
	require.NoError(t, err, "what the sample in flight says is not heard")
	assert.True(t, partial)
	assert.Len(t, r.kept, 4)
	assert.Len(t, run.Samples, 4)

	// A sample that ended well as ctx ended may have been cut short all the same.
	ctx, cancel := context.WithCancel(t.Context())
	r = newRig(t, workers(2))
	r.Take = func(_ context.Context, slot result.Slot) (result.Sample, error) {
		cancel()
		return r.fake.take(r.run, slot), nil
	}
	partial, err = r.Run(ctx)
	require.NoError(t, err)
	assert.True(t, partial)
	assert.Empty(t, r.kept)

	r = newRig(t, workers(2))
	r.Take = func(context.Context, result.Slot) (result.Sample, error) { panic("it was too late") }
	partial, err = r.Run(ctx)
	require.NoError(t, err)
	assert.True(t, partial)
}

func TestRunnerFails(t *testing.T) {
	full := errors.New("the disk is full")
	r := newRig(t, workers(2))
	r.Keep = func(result.Sample) error { return full }
	partial, err := r.Run(t.Context())
	require.ErrorIs(t, err, full)
	assert.False(t, partial)
	assert.Empty(t, r.run.Samples, "what is not stored does not count")

	gone := errors.New("no such file")
	r = newRig(t, workers(2))
	r.Take = func(context.Context, result.Slot) (result.Sample, error) { return result.Sample{}, gone }
	_, err = r.Run(t.Context())
	require.ErrorIs(t, err, gone)
	assert.Empty(t, r.kept)
}

// What makes a sample invalid is stored with it, before it ends anything.
func TestRunnerKeepsInvalidSamples(t *testing.T) {
	r := newRig(t, workers(2))
	r.fake.spoil = invalidate("workers=0", 1, "no such CPU")
	_, err := r.Run(t.Context())
	require.EqualError(t, err, "the baseline cannot be measured: no such CPU")
	last := r.kept[len(r.kept)-1]
	assert.Equal(t, result.Invalid, last.Quality.Verdict)
	assert.Equal(t, r.kept, r.run.Samples)

	run := workers(3)
	run.Matrix.Rounds = 2
	r = newRig(t, run)
	r.fake.spoil = func(s *result.Sample, cell string) {
		s.Answer = &result.Answer{Of: "primes", Is: "25"}
		if cell == "workers=2" && s.Round == 1 {
			s.Answer.Is = "24"
		}
	}
	_, err = r.Run(t.Context())
	require.NoError(t, err)
	for _, s := range r.kept {
		if s.Cell == 2 && s.Round == 1 {
			assert.Equal(t, result.Invalid, s.Quality.Verdict)
			assert.Equal(t, []string{"primes are 24 here and were 25 before"}, s.Quality.Reasons, "once")
		} else {
			assert.Equal(t, result.Valid, s.Quality.Verdict)
		}
	}
}
