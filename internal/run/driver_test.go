package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/base/packed"
	"gorun/internal/dev/tests"
	"gorun/internal/experiment"
	"gorun/internal/files/input"
	"gorun/internal/judge/journal"
	"gorun/internal/judge/matrix"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/sample/take"
	"gorun/internal/stats"
)

// testRun is a driver of a fake experiment, whose clock advances by the duration of each sample.
type testRun struct {
	*driver
	clock  time.Time
	path   string                                     // of the journal
	takes  func(taken, round int) time.Duration       // duration of the next execution
	spoil  func(s *result.Sample, taken, cell int)    // changes a sample; may be nil
	before func(ctx context.Context, taken int) error // called first
	taken  int
}

// newTestRun returns a rig for cells in an order; the run continues after the samples that it has.
func newTestRun(t testing.TB, order matrix.Order, cells int, o Options) *testRun {
	t.Helper()
	run := &result.Run{Schema: result.Schema, Seed: 7}
	r := &testRun{
		clock: time.Unix(1e9, 0), path: filepath.Join(t.TempDir(), "run.jsonl"),
		takes:  func(int, int) time.Duration { return time.Second },
		spoil:  func(*result.Sample, int, int) {},
		before: func(context.Context, int) error { return nil },
	}
	o.quiet = true
	r.driver = &driver{
		plan: plan{
			run: run, x: experiment.Experiment{Traits: experiment.Traits{Place: experiment.Started}},
			schedule: matrix.Schedule{Order: order, Samples: o.samples, First: []int{0, 1, 1}},
		},
		options: &o,
	}
	if order == matrix.RandomBlocks {
		r.kind = matrixRun
	}
	for i := range cells {
		r.cells = append(r.cells, experiment.Cell[any]{Do: i})
		if order != matrix.Turns {
			name := fmt.Sprintf("n=%d", i)
			run.Cells = append(run.Cells, result.Cell{Name: name, Flags: map[string]string{"n": name}})
		}
	}
	if run.Cells != nil {
		run.Matrix = &result.Matrix{
			Alpha: defaultAlpha, Margin: defaultMargin, Precision: defaultPrecision, Rounds: o.samples, Budget: o.budget.Seconds(),
		}
	}
	r.open(t)
	return r
}

// open opens the journal and the schedule, with the samples that the run has.
func (r *testRun) open(t testing.TB) {
	t.Helper()
	r.session = &session{env: Env{Now: func() time.Time { return r.clock }, Stderr: &bytes.Buffer{}}, run: r.plan.run}
	r.state.begin(r.env.Now)
	require.NoError(t, r.openJournal(t.Context(), &Options{resume: true, resultFlags: resultFlags{out: r.path}}))
	t.Cleanup(func() { _ = r.journal.Close() })
	var err error
	r.driver.order, err = r.newSequence()
	require.NoError(t, err)
	if r.resumed == nil {
		require.NoError(t, r.journal.Write(result.Line{Header: r.plan.run}))
	}
	r.takeSample = func(ctx context.Context, cell int) (result.Sample, error) {
		if err := r.before(ctx, r.taken); err != nil {
			return result.Sample{}, err
		}
		d := r.takes(r.taken, r.result().Samples.Len()/max(1, len(r.cells)+1))
		r.clock = r.clock.Add(d)
		s := result.Sample{
			Seconds: d.Seconds(), Placement: result.Placement{Verified: true}, Quality: result.Quality{Grade: result.Valid},
		}
		r.spoil(&s, r.taken, cell)
		r.taken++
		return s, nil
	}
}

func (r *testRun) result() *result.Run { return r.session.run }

func codes(run *result.Run) (all []string) {
	for _, w := range run.Warnings {
		all = append(all, w.Code)
	}
	return all
}

func TestSamplesAfterTheWarmup(t *testing.T) {
	r := newTestRun(t, matrix.Turns, 1, Options{samples: 3, warmup: 1})
	r.takes = func(taken, _ int) time.Duration { return time.Duration(9-8*min(taken, 1)) * time.Second }
	require.NoError(t, r.sample(t.Context()))
	run := r.result()
	require.Equal(t, 3, run.Samples.Len())
	require.Len(t, run.Warmups, 1)
	assert.Equal(t, 9.0, run.Warmups[0].Seconds)
	for i, s := range run.Samples.All() {
		assert.Equal(t, i, s.Index)
		assert.Equal(t, 1.0, s.Seconds)
	}
	assert.Empty(t, run.Warnings)
	assert.False(t, run.Partial)
	assert.Equal(t, 4, r.state.work.Totals.Samples, "warm-ups are counted in the metrics")
}

// One sample is always taken; if the first execution used up the budget, it is that sample and not a warm-up.
func TestBudget(t *testing.T) {
	for name, c := range map[string]struct {
		budget, takes time.Duration
		warmup        int
		taken, kept   int // executions, samples
		warning       string
	}{
		"some samples": {3500 * time.Millisecond, time.Second, 1, 4, 3, "budget"},
		"no warm-up":   {time.Second, time.Minute, 1, 1, 1, "no-warmup"},
		"one sample":   {time.Second, time.Minute, 0, 1, 1, "budget"},
	} {
		r := newTestRun(t, matrix.Turns, 1, Options{samples: 100, warmup: c.warmup, budget: c.budget})
		r.takes = func(int, int) time.Duration { return c.takes }
		require.NoError(t, r.sample(t.Context()))
		assert.Equal(t, c.taken, r.taken, name)
		assert.Equal(t, c.kept, r.result().Samples.Len(), name)
		assert.Len(t, r.result().Warmups, c.taken-c.kept, name)
		assert.Equal(t, []string{c.warning}, codes(r.result()), name)
	}
}

// An interrupt keeps all samples, including the one in progress.
func TestInterrupt(t *testing.T) {
	for _, at := range []int{1, 2, 3} {
		r := newTestRun(t, matrix.Turns, 1, Options{samples: 100, warmup: 1})
		ctx, cancel := context.WithCancel(t.Context())
		r.spoil = func(s *result.Sample, taken, _ int) {
			if taken+1 == at {
				cancel()
				s.Partial = true
			}
		}
		require.NoError(t, r.sample(ctx))
		run := r.result()
		assert.True(t, run.Partial)
		assert.Equal(t, at, r.taken)
		require.Positive(t, run.Samples.Len())
		assert.True(t, run.Samples.Last().Partial)
		assert.Empty(t, run.Warnings)
	}
}

// interrupting are figures that interrupt a run when they are written to its journal.
type interrupting struct{ interrupt interrupt }

type interrupt func()

func (*interrupt) Pack(*packed.Encoder)   {}
func (*interrupt) Unpack(*packed.Decoder) {}

func (f *interrupting) MarshalJSON() ([]byte, error) {
	if f.interrupt != nil {
		f.interrupt()
	}
	return []byte("{}"), nil
}

// An interrupt while the journal is written ends the run as one during a sample does. The sample is complete.
func TestInterruptWhileTheJournalIsWritten(t *testing.T) {
	for _, order := range []matrix.Order{matrix.Turns, matrix.RandomBlocks, matrix.Rows, matrix.Pairs} {
		r := newTestRun(t, order, 2, Options{samples: 5})
		ctx, cancel := context.WithCancel(t.Context())
		r.spoil = func(s *result.Sample, taken, _ int) {
			if taken == 1 {
				s.Values = result.FiguresOf(&interrupting{interrupt(cancel)})
			}
		}
		require.NoError(t, r.sample(ctx))
		run := r.result()
		assert.True(t, run.Partial, "order %d", order)
		require.Equal(t, 2, run.Samples.Len())
		assert.False(t, run.Samples.At(1).Partial)
		assert.Empty(t, run.Warnings)
		require.ErrorIs(t, r.outcome(nil), ErrInterrupted)
	}
}

// After an interrupt no sample begins.
func TestInterruptBeforeTheFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, order := range []matrix.Order{matrix.Turns, matrix.RandomBlocks, matrix.Rows} {
		r := newTestRun(t, order, 2, Options{samples: 100})
		r.before = func(context.Context, int) error { panic("it was too late") }
		require.NoError(t, r.sample(ctx))
		assert.True(t, r.result().Partial)
		assert.Zero(t, r.result().Samples.Len())
	}
}

// An error after which no sample can be taken ends the run, which is neither interrupted nor short of samples: its Ender says why.
func TestOver(t *testing.T) {
	r := newTestRun(t, matrix.RandomBlocks, 2, Options{samples: 100})
	r.before = func(_ context.Context, taken int) error {
		if taken == 4 {
			return experiment.Over(errors.New("the server is gone"))
		}
		return nil
	}
	require.NoError(t, r.sample(t.Context()))
	assert.Equal(t, 4, r.result().Samples.Len())
	assert.False(t, r.result().Partial)
	assert.Empty(t, r.result().Warnings)
}

// With a duration, the sampler's context ends when the time is over, and that is not an interrupt.
func TestDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which time passes only while all goroutines wait, so a slow machine makes no difference
		r := newTestRun(t, matrix.Turns, 1, Options{samples: 1})
		r.plan.schedule.Duration = 0.020
		var err error
		r.driver.order, err = r.newSequence()
		require.NoError(t, err)
		r.takes = func(int, int) time.Duration { return time.Millisecond }
		r.before = func(ctx context.Context, taken int) error {
			if taken == 3 {
				<-ctx.Done()
			}
			return nil
		}
		r.spoil = func(s *result.Sample, taken, _ int) { s.Partial = taken == 3 }
		require.NoError(t, r.sample(t.Context()))
		assert.Equal(t, 4, r.result().Samples.Len())
		assert.True(t, r.result().Samples.At(3).Partial)
		assert.False(t, r.result().Partial)
	})
}

// A failed sample costs only that sample, in every schedule.
func TestFaultCostsItsSample(t *testing.T) {
	for _, order := range []matrix.Order{matrix.Turns, matrix.RandomBlocks, matrix.Rows, matrix.Pairs} {
		whole := newTestRun(t, order, 2, Options{samples: 5})
		require.NoError(t, whole.sample(t.Context()))
		for at := range 6 {
			r := newTestRun(t, order, 2, Options{samples: 5})
			r.before = func(_ context.Context, taken int) error {
				if taken == at && r.result().Samples.Len() == at {
					return errors.New("broken")
				}
				return nil
			}
			require.NoError(t, r.sample(t.Context()))
			run := r.result()
			require.Equal(t, whole.result().Samples.Len(), run.Samples.Len(), "order %d", order)
			for i, s := range run.Samples.All() {
				if i == at {
					assert.Equal(t, []string{"broken"}, s.Quality.Reasons)
				}
				assert.Equal(t, i != at, s.Good())
				assert.Equal(t, i, s.Index)
			}
			r.judge()
			require.NoError(t, r.outcome(nil))
			assert.Empty(t, run.Warnings)
		}
	}
}

// A sample whose compared figure is 0 is invalid in every schedule of cells, and the journal of the run can be read.
func TestFigureOfZero(t *testing.T) {
	for _, order := range []matrix.Order{matrix.RandomBlocks, matrix.Rows, matrix.Pairs} {
		r := newTestRun(t, order, 2, Options{samples: 3})
		r.spoil = func(s *result.Sample, taken, _ int) {
			if taken == 1 {
				s.Seconds = 0
			}
		}
		require.NoError(t, r.sample(t.Context()))
		for i, s := range r.result().Samples.All() {
			assert.Equal(t, i != 1, s.Good(), "order %d", order)
		}
		assert.Equal(t, []string{"the time is 0: only figures above 0 are compared"}, r.result().Samples.At(1).Quality.Reasons)
		require.NoError(t, r.journal.Close())
		_, err := journal.Read(t.Context(), input.Opener{}, r.path, func(string) (column.List, bool) { return nil, true })
		require.NoError(t, err, "order %d", order)
	}
}

// A cell that fails three times in a row is given up, and the others go on.
func TestCellIsGivenUp(t *testing.T) {
	for order, left := range map[matrix.Order]int{
		matrix.Turns: 2, matrix.RandomBlocks: 2, matrix.Rows: 2, matrix.Pairs: 0,
	} {
		cells := 3
		if order == matrix.Pairs {
			cells = 2
		}
		r := newTestRun(t, order, cells, Options{samples: 8})
		r.plan.schedule.First = []int{0, 1, 0, 1, 1, 1, 1, 0}
		var err error
		r.driver.order, err = r.newSequence()
		require.NoError(t, err)
		last := cells - 1
		r.spoil = func(s *result.Sample, taken, cell int) {
			if cell == last && taken > cells {
				s.Quality = result.Quality{Grade: result.Invalid, Reasons: []string{"CPU 3 is offline"}}
			}
		}
		require.NoError(t, r.sample(t.Context()))
		run := r.result()
		taken := make([]int, cells)
		for i, s := range run.Samples.All() {
			switch {
			case s.Slot == nil:
				taken[r.sampled[i]]++
			case !s.Slot.Control:
				taken[s.Cell]++
			}
		}
		assert.LessOrEqual(t, taken[last], 5, "order %d", order)
		for cell := range left {
			assert.Equal(t, 8, taken[cell], "order %d", order)
		}
		require.Contains(t, codes(run), "given-up")
		assert.Contains(t, run.Warnings[0].Message, "was given up after 3 invalid samples in a row: CPU 3 is offline")
		require.NoError(t, r.outcome(nil))
	}
}

// A run without a valid sample has failed, and ends before all samples are taken.
func TestNoValidSample(t *testing.T) {
	for _, order := range []matrix.Order{
		matrix.Turns, matrix.RandomBlocks, matrix.Rows, matrix.Pairs,
	} {
		r := newTestRun(t, order, 2, Options{samples: 50})
		r.before = func(context.Context, int) error { return hint.With(errors.New("no such CPU"), "give another") }
		require.NoError(t, r.sample(t.Context()))
		assert.LessOrEqual(t, r.result().Samples.Len(), 6)
		r.judge()
		err := r.outcome(nil)
		require.EqualError(t, err, "no sample is valid: no such CPU")
		assert.Equal(t, "give another", hint.Of(err))
	}
}

// The outcome of a run: an interrupt first, then the command's own status, then the quality of the samples.
func TestOutcome(t *testing.T) {
	r := newTestRun(t, matrix.Turns, 1, Options{samples: 5, strict: true})
	r.spoil = func(s *result.Sample, taken, _ int) {
		if taken == 1 {
			s.Quality = result.Quality{Grade: result.Invalid, Reasons: []string{"torn"}}
		}
	}
	require.NoError(t, r.sample(t.Context()))
	require.ErrorIs(t, r.outcome(nil), ErrDoubtful)
	require.ErrorIs(t, r.outcome(experiment.Status(7)), experiment.Status(7))
	r.result().Partial = true
	require.ErrorIs(t, r.outcome(experiment.Status(7)), ErrInterrupted)

	r = newTestRun(t, matrix.RandomBlocks, 2, Options{samples: 5})
	r.spoil = func(s *result.Sample, taken, cell int) {
		if cell == 0 && taken > 5 {
			s.Quality = result.Quality{Grade: result.Invalid, Reasons: []string{"torn"}}
		}
	}
	require.NoError(t, r.sample(t.Context()))
	require.EqualError(t, r.outcome(nil), "no cell is left to compare: torn", "the baseline was given up")
}

// A journal that cannot be written ends the run, which is then judged and shown like an interrupted one, before the
// error.
func TestJournalFails(t *testing.T) {
	for _, order := range []matrix.Order{matrix.Turns, matrix.Rows, matrix.RandomBlocks} {
		var shown bytes.Buffer
		out := resultFlags{format: "json", out: "run.jsonl"}
		r := newTestRun(t, order, 2, Options{samples: 5, resultFlags: out, resumes: true})
		r.env.Stdout = &shown
		r.spoil = func(_ *result.Sample, taken, _ int) {
			if taken == 2 {
				require.NoError(t, r.journal.Close())
			}
		}
		require.NoError(t, r.sample(t.Context()))
		r.judge()
		assert.Equal(t, 3, r.result().Samples.Len(), "what could not be stored is shown")
		err := r.finish(t.Context(), r.options)
		require.ErrorIs(t, err, os.ErrClosed)
		require.ErrorContains(t, err, "cannot write --out run.jsonl: ")
		assert.Equal(t, order != matrix.Turns, strings.Contains(hint.Of(err), "--resume"), "where there is one")
		assert.Contains(t, shown.String(), `"partial": true`)
	}
}

// The warm-ups and the first lap are in the cells' order, and each later lap is in an order that the seed decides.
func TestShuffledLaps(t *testing.T) {
	order := func(seed uint64) (cells []int) {
		r := newTestRun(t, matrix.Turns, 5, Options{samples: 4, warmup: 1})
		r.result().Seed = seed
		r.driver.order, _ = r.newSequence()
		r.spoil = func(_ *result.Sample, _, cell int) { cells = append(cells, cell) }
		require.NoError(t, r.sample(t.Context()))
		r.judge()
		return cells
	}
	first := order(1)
	require.Len(t, first, 25)
	assert.Equal(t, []int{0, 1, 2, 3, 4, 0, 1, 2, 3, 4}, first[:10])
	for lap := 10; lap < 25; lap += 5 {
		assert.ElementsMatch(t, []int{0, 1, 2, 3, 4}, first[lap:lap+5])
	}
	assert.Equal(t, first, order(1))
	assert.NotEqual(t, first, order(2))
}

// The wall times of a single cell are summarised, unless the run has another main figure.
func TestSummaryOfOneCell(t *testing.T) {
	for datum, want := range map[string]bool{"": true, "ns": false} {
		r := newTestRun(t, matrix.Turns, 1, Options{samples: 2})
		r.x.Compared = datum
		require.NoError(t, r.sample(t.Context()))
		r.judge()
		assert.Equal(t, want, r.result().Summary != nil, datum)
	}
}

// Samples of shuffled laps are shown cell by cell.
func TestByCell(t *testing.T) {
	samples := byCell(packed.Of(result.Sample{Index: 0}, result.Sample{Index: 1}, result.Sample{Index: 2}, result.Sample{Index: 3}), []int{1, 0, 0, 1})
	assert.Equal(t, []result.Sample{{Index: 1}, {Index: 2}, {Index: 0}, {Index: 3}}, tests.Values(samples.All()))
}

// Row by row, each row has its share of the budget, and at least one sample.
func TestRows(t *testing.T) {
	r := newTestRun(t, matrix.Rows, 2, Options{samples: 3})
	require.NoError(t, r.sample(t.Context()))
	var cells []int
	for _, s := range r.result().Samples.All() {
		cells = append(cells, s.Cell)
	}
	assert.Equal(t, []int{0, 0, 0, 1, 1, 1}, cells)

	r = newTestRun(t, matrix.Rows, 2, Options{samples: 100, budget: 6 * time.Second})
	require.NoError(t, r.sample(t.Context()))
	perCell := map[int]int{}
	for _, s := range r.result().Samples.All() {
		perCell[s.Cell]++
	}
	assert.Equal(t, map[int]int{0: 4, 1: 3}, perCell)
}

// Both cells of a pair are sampled, in the order given for the pair.
func TestPairs(t *testing.T) {
	r := newTestRun(t, matrix.Pairs, 2, Options{samples: 3})
	require.NoError(t, r.sample(t.Context()))
	var places [][2]int
	for _, s := range r.result().Samples.All() {
		places = append(places, [2]int{s.Round, s.Cell})
	}
	assert.Equal(t, [][2]int{{0, 0}, {0, 1}, {1, 1}, {1, 0}, {2, 1}, {2, 0}}, places)
}

// No round begins that would not end within the budget. A round of two cells is 3 samples of a second.
func TestBlocksBudget(t *testing.T) {
	slowing := func(_, round int) time.Duration { return time.Duration(round+1) * time.Second }
	for name, c := range map[string]struct {
		budget time.Duration
		pace   func(int, int) time.Duration
		want   int // samples
	}{
		"to the second":             {9 * time.Second, nil, 9},
		"a second less":             {8 * time.Second, nil, 6},
		"a second more":             {10 * time.Second, nil, 9},
		"the first is completed":    {time.Second, nil, 3},
		"the last one is the guess": {(3 + 6 + 9 + 8) * time.Second, slowing, 9},
		"and it holds":              {(3 + 6 + 9 + 9) * time.Second, slowing, 12},
	} {
		r := newTestRun(t, matrix.RandomBlocks, 2, Options{budget: c.budget})
		if c.pace != nil {
			r.takes = c.pace
		}
		require.NoError(t, r.sample(t.Context()), name)
		assert.False(t, r.result().Partial, name)
		assert.Equal(t, c.want, r.result().Samples.Len(), name)
	}
}

// A resumed run continues as if it had not been stopped: it completes its round, and its time and budget continue.
func TestBlocksResume(t *testing.T) {
	for name, c := range map[string]struct {
		stopped int           // number of samples before the stop
		budget  time.Duration // of the resumed run
		want    int           // samples
	}{
		"between rounds, for one more":     {6, 9 * time.Second, 9},
		"between rounds, for no more":      {6, 8 * time.Second, 6},
		"within a round":                   {5, 5500 * time.Millisecond, 6},
		"within the first":                 {1, 500 * time.Millisecond, 3},
		"the next round is a whole one":    {5, 8 * time.Second, 6},
		"the next round has its whole due": {5, 9 * time.Second, 9},
	} {
		r := newTestRun(t, matrix.RandomBlocks, 2, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		r.before = func(_ context.Context, taken int) error {
			if taken == c.stopped {
				cancel()
				return errors.New("was ended")
			}
			return nil
		}
		require.NoError(t, r.sample(ctx), "what the sample in flight says is not heard")
		require.True(t, r.result().Partial, name)
		require.Equal(t, c.stopped, r.result().Samples.Len(), name)

		r.before = func(context.Context, int) error { return nil }
		r.options.budget = c.budget
		require.NoError(t, r.journal.Close())
		r.open(t)
		require.NoError(t, r.sample(t.Context()), name)
		assert.False(t, r.result().Partial, name)
		require.Equal(t, c.want, r.result().Samples.Len(), name)
		for i, s := range r.result().Samples.All() {
			assert.Equal(t, i, s.Index, name)
			assert.InDelta(t, i+1, s.Elapsed, 1e-9, name)
		}
	}
}

// varied records how the samples of a run vary.
type varied struct {
	experiment.Variation
	of []experiment.Variation
}

func (v *varied) Vary(to experiment.Variation) { v.of = append(v.of, to) }
func (v *varied) Close() error                 { return nil }
func (v *varied) Sample(context.Context, any) (s result.Sample, err error) {
	return s, err
}

// What varies follows from the seed and the sample's number alone, so that it favours no cell and is the same after --resume.
func TestVary(t *testing.T) {
	of := func(cells, padding int) []experiment.Variation {
		r, v := newTestRun(t, matrix.RandomBlocks, cells, Options{samples: 60 / (cells + 1)}), &varied{}
		r.taker.Sampler, r.result().Matrix.Padding = v, padding
		require.NoError(t, r.sample(t.Context()))
		return v.of
	}
	two, three := of(2, 4096), of(3, 4096)
	require.Len(t, two, 60)
	sizes := map[int]bool{}
	for i, v := range two {
		assert.Equal(t, i/3, v.Round)
		assert.Equal(t, v.Padding, three[i].Padding)
		assert.True(t, 16 <= v.Padding && v.Padding <= 4096 && v.Padding%16 == 0, v.Padding)
		sizes[v.Padding] = true
	}
	assert.Greater(t, len(sizes), 40)
	for _, v := range of(2, 0) {
		assert.Zero(t, v.Padding)
	}
}

// A sample that succeeded as ctx ended may still have been cut short, so judged runs do not keep it.
func TestBlocksInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := newTestRun(t, matrix.RandomBlocks, 2, Options{})
	r.spoil = func(*result.Sample, int, int) { cancel() }
	require.NoError(t, r.sample(ctx))
	assert.True(t, r.result().Partial)
	assert.Zero(t, r.result().Samples.Len())
}

// The reason why a sample is invalid is stored with it, before it can end the run.
func TestBlocksKeepInvalidSamples(t *testing.T) {
	r := newTestRun(t, matrix.RandomBlocks, 2, Options{})
	r.spoil = func(s *result.Sample, _, cell int) {
		if cell == 0 {
			s.Quality = result.Quality{Grade: result.Invalid, Reasons: []string{"no such CPU"}}
		}
	}
	require.NoError(t, r.sample(t.Context()))
	assert.Equal(t, result.Invalid, r.result().Samples.Last().Quality.Grade)

	r = newTestRun(t, matrix.RandomBlocks, 3, Options{samples: 2})
	r.spoil = func(s *result.Sample, taken, cell int) {
		s.Answer = &result.Answer{Of: "primes", Is: "25"}
		if cell == 2 && taken >= 4 {
			s.Answer.Is = "24"
		}
	}
	require.NoError(t, r.sample(t.Context()))
	for _, s := range r.result().Samples.All() {
		if s.Cell == 2 && s.Round == 1 {
			assert.Equal(t, result.Invalid, s.Quality.Grade)
			assert.Equal(t, []string{"primes are 24 here and were 25 before"}, s.Quality.Reasons, "once")
		} else {
			assert.Equal(t, result.Valid, s.Quality.Grade)
		}
	}
}

// BenchmarkScheduler measures what a matrix adds to the time of each sample's process, some milliseconds: the order,
// the judging, and the journal with one fsync per sample, which is shown separately.
func BenchmarkScheduler(b *testing.B) {
	const rounds = 25
	for b.Loop() {
		r := newTestRun(b, matrix.RandomBlocks, 4, Options{samples: rounds})
		r.spoil = func(s *result.Sample, taken, _ int) { s.Seconds *= 1 + float64(taken%7)/100 }
		begun := time.Now()
		require.NoError(b, r.sample(b.Context()))
		r.judge()
		all := time.Since(begun)
		begun = time.Now()
		for _, s := range r.result().Samples.All() {
			require.NoError(b, r.journal.Write(result.Line{Sample: s}))
		}
		stored, samples := time.Since(begun), float64(r.result().Samples.Len())
		b.ReportMetric(float64((all-stored).Microseconds())/samples, "µs-schedule/sample")
		b.ReportMetric(float64(stored.Microseconds())/samples, "µs-journal/sample")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkLongRun compares the CPU time that a matrix adds to a sample in the last tenth of a long run with that in the first, and
// reports the memory that a sample takes.
func BenchmarkLongRun(b *testing.B) {
	const rounds, cells, parts = 100_000, 2, 10
	const samples = rounds * (cells + 1) // with the control
	var ratios, kept []float64
	for b.Loop() {
		r := newTestRun(b, matrix.RandomBlocks, cells, Options{samples: rounds})
		var ends []float64
		r.spoil = func(s *result.Sample, taken, _ int) {
			s.Seconds *= 1 + float64(taken*7919%1000)/1e4
			if taken%(samples/parts) == 0 {
				used, err := linux.CPUSeconds()
				require.NoError(b, err)
				ends = append(ends, used)
			}
		}
		before := liveBytes()
		require.NoError(b, r.sample(b.Context()))
		used, err := linux.CPUSeconds()
		require.NoError(b, err)
		ratios = append(ratios, (used-ends[parts-1])/(ends[1]-ends[0]))
		kept = append(kept, (liveBytes()-before)/samples)
	}
	b.ReportMetric(stats.Median(ratios), "last-tenth/first")
	b.ReportMetric(stats.Median(kept), "B/sample")
	b.ReportMetric(0, "ns/op")
}

// liveBytes returns the size of what is in use.
func liveBytes() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// A budget that was given is refused if it cannot hold the pilot and one round, and what is named would be enough.
func TestBudgetHoldsARound(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want string // the hint; "": it is not refused
	}{
		"too short":   {Options{budget: 11 * time.Second, budgeted: true}, "give --budget 2m or more"},
		"enough":      {Options{budget: 13 * time.Second, budgeted: true}, ""},
		"the default": {Options{budget: time.Second}, ""},
		"no limit":    {Options{budgeted: true}, ""},
	} {
		err := newTestRun(t, matrix.RandomBlocks, 2, c.o).holdsRound(4, 3)
		assert.Equal(t, c.want != "", hint.IsUsage(err), name)
		assert.Equal(t, c.want, hint.Of(err), name)
	}
	assert.NoError(t, newTestRun(t, matrix.Turns, 2, Options{budget: time.Second, budgeted: true}).holdsRound(1, 3))
	for seconds, want := range map[float64]string{0.21: "300ms", 0.3: "300ms", 12.1: "13s", 41: "45s", 61: "1m30s", 120: "2m", 3601: "1h10m"} {
		assert.Equal(t, want, typed(seconds))
	}
}

// Work before the first sample that the budget ends has words of its own, and names a budget in which there is a verdict.
func TestBudgetEndsInPrepare(t *testing.T) {
	r := newTestRun(t, matrix.RandomBlocks, 2, Options{budget: 11 * time.Second, budgeted: true})
	for _, c := range []struct {
		of         *experiment.Unfinished
		says, hint string
	}{
		{&experiment.Unfinished{What: "ended while it slept", Hint: "wake it"}, "--budget 11s ended while it slept", "wake it"},
		{&experiment.Unfinished{What: "is too short", Whole: 4 * time.Second, Each: 3 * time.Second}, "--budget 11s is too short", "give --budget 2m or more"},
	} {
		err := r.ended(t.Context(), t.Context(), "--setup", longer, fmt.Errorf("it: %w", c.of))
		require.EqualError(t, err, c.says)
		assert.Equal(t, c.hint, hint.Of(err))
		assert.True(t, hint.IsUsage(err))
	}
}

// A budget that ends before the first verdict is told before the first sample.
func TestFewRoundsAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		each float64
		told bool
	}{
		"the default, short":   {Options{budget: 10 * time.Second}, 1, true},
		"the default, enough":  {Options{budget: time.Hour}, 1, false},
		"given, short with it": {Options{budget: time.Minute, budgeted: true}, 1, true},
		"no limit":             {Options{}, 1, false},
		"no pilot":             {Options{budget: time.Second}, 0, false},
		"a number of samples":  {Options{budget: time.Second, samples: 2}, 1, false},
		"quiet":                {Options{budget: time.Second, resultFlags: resultFlags{quiet: true}}, 1, false},
	} {
		r := newTestRun(t, matrix.RandomBlocks, 2, c.o)
		r.options.quiet = c.o.quiet
		r.tellFewRounds(50, c.each)
		text := r.env.Stderr.(*bytes.Buffer).String()
		assert.Equal(t, c.told, text != "", name)
		if c.told {
			assert.Contains(t, text, "come before any verdict", name)
			assert.Contains(t, text, "give --budget", name)
		}
	}
}

// A comparison whose budget ends in the first round is refused. With the budget that is named, the resumed run takes the
// sample that was cut again.
func TestBudgetEndsInTheFirstRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestRun(t, matrix.RandomBlocks, 2, Options{budget: 2500 * time.Millisecond, budgeted: true})
		cut := false
		r.takes = func(int, int) time.Duration { return 0 }
		r.before = func(ctx context.Context, _ int) error {
			begun := time.Now()
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			cut = ctx.Err() != nil
			r.clock = r.clock.Add(time.Since(begun))
			return nil
		}
		r.spoil = func(s *result.Sample, _, _ int) {
			if s.Seconds, s.Partial = 1, cut; cut {
				s.Seconds = 0.5
			}
		}
		require.NoError(t, r.sample(t.Context()))
		err := r.heldRound()
		require.EqualError(t, err, "--budget 2.5s ended after 2 of 3 samples of the first round")
		assert.True(t, hint.IsUsage(err))
		assert.Equal(t, "give --budget 4s or more", hint.Of(err))

		r.options.budget = 4 * time.Second
		require.NoError(t, r.journal.Close())
		r.open(t)
		require.NoError(t, r.sample(t.Context()))
		require.NoError(t, r.heldRound())
		samples := tests.Values(r.result().Samples.All())
		require.Len(t, samples, 4)
		assert.True(t, samples[2].Partial)
		samples[2].Slot.Elapsed = samples[3].Slot.Elapsed
		assert.Equal(t, samples[2].Slot, samples[3].Slot)
	})
}

// unending is a command that ends only when it is ended.
type unending struct{ experiment.Sampler[any] }

func (unending) Sample(ctx context.Context, _ any) (result.Sample, error) {
	<-ctx.Done()
	return result.Sample{Partial: true}, nil
}

// The default budget ends the first execution of the user's command, and a --timeout is the user's own limit.
func TestEndless(t *testing.T) {
	r := newTestRun(t, matrix.RandomBlocks, 2, Options{budget: time.Millisecond, given: func(string) bool { return false }})
	watcher, _ := measure.OpenOutside(sysfs.This(), cpuset.Of(0))
	r.taker = take.Taker{Sampler: unending{}, Watcher: watcher, Cells: r.cellContents(), Command: true, Limit: r.options.limit()}
	r.takeSample = r.taker.Take
	err := r.sample(t.Context())
	require.EqualError(t, err, "the command did not end within the default budget, 1ms")
	assert.True(t, hint.IsUsage(err))
	assert.Contains(t, hint.Of(err), "give --budget 100ms or more; if it does not, have each execution ended by --timeout")

	r.options.given = func(flag string) bool { return flag == "timeout" }
	assert.Zero(t, r.options.limit())
}
