package matrix_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/judge/matrix"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
)

// nices returns a candidate for each of these cells.
func nices(cells int) (candidates []result.Candidate) {
	for i := range cells {
		candidates = append(candidates, result.Candidate{Cell: i, Axis: result.AxisNice, Value: "-20"})
	}
	return candidates
}

// confirmed plays a run to its end, with these candidates, and explains it. It returns the samples in the order in which they were taken.
func (f fake) confirmed(t *testing.T, run *result.Run, candidates []result.Candidate, budget float64) (taken []result.Sample) {
	t.Helper()
	run.Matrix.Candidates, run.Matrix.Budget = candidates, budget
	blocks, err := matrix.Schedule{Order: matrix.RandomBlocks, Budget: budget}.Sequence(run, nil, column.Common())
	require.NoError(t, err)
	for elapsed := 0.0; len(taken) < 5000; {
		slot, more := blocks.Next(elapsed)
		if !more {
			break
		}
		s := f.take(run, slot)
		elapsed = s.Elapsed
		require.True(t, blocks.Check(&s, elapsed))
		s.Elapsed = elapsed
		run.Take(s)
		taken = append(taken, s)
		require.NoError(t, blocks.Add(s, elapsed))
	}
	blocks.Judge()
	matrix.Explain(run, false)
	return taken
}

// slowed returns samples of which some cells wait for a CPU for longer.
func slowed(extra map[string]float64) func(*result.Sample, string) {
	return func(s *result.Sample, of string) { accounted(1, of, "waiting", extra[of])(s, of) }
}

// TestConfirm: the share of the difference that a candidate takes away decides, whether it is of the cell or of its baseline. A candidate of a
// baseline is sampled once for all cells.
func TestConfirm(t *testing.T) {
	for _, c := range []struct {
		baseline bool
		left     float64 // of the difference of 40 ms
		want     string
	}{
		{false, 0, result.ConfirmedCause},
		{false, 1, result.ConfirmedNot},
		{false, 0.5, result.ConfirmedUnknown},
		{true, 0, result.ConfirmedCause},
		{true, 1, result.ConfirmedNot},
		{true, 0.1, result.ConfirmedCause},
	} {
		run := workers(3)
		slow, candidate := "workers=1", "candidate 1"
		if c.baseline {
			slow, candidate = "workers=0", "candidate 0"
		}
		taken := fake{spoil: slowed(map[string]float64{slow: 0.04, candidate: 0.04 * c.left})}.confirmed(t, run, nices(3), 0)
		is := run.Cells[1].Why.Confirmed
		require.NotNil(t, is, "%+v", c)
		assert.Equal(t, c.want, is.Result, "%+v", c)
		assert.InDelta(t, 1-c.left, is.Share.Typical, 0.05, "%+v", c)
		assert.Equal(t, len(taken), run.Taken())
		if rounds := is.Rounds; c.baseline {
			other := run.Cells[2].Why.Confirmed.Rounds // in whose later rounds this cell is not
			both, one := min(rounds, other), max(rounds, other)-min(rounds, other)
			assert.Equal(t, 5*both+4*one, run.Confirming.Len(), "%+v", c)
		} else {
			assert.Equal(t, 4*rounds, run.Confirming.Len(), "%+v", c)
		}
		if c.want != result.ConfirmedUnknown {
			assert.Less(t, is.Rounds, 30, "%+v", c)
		} else {
			assert.Equal(t, 100, is.Rounds)
		}
		if c.baseline {
			assert.Equal(t, is.Result, run.Cells[2].Why.Confirmed.Result)
		} else {
			assert.Nil(t, run.Cells[2].Why, "it does not differ")
		}
	}
}

// TestConfirmChangesNoVerdict: with candidates, a run has the same samples before the confirming ones, and the same verdicts.
func TestConfirmChangesNoVerdict(t *testing.T) {
	with, without := workers(3), workers(3)
	f := fake{spoil: slowed(map[string]float64{"workers=1": 0.04})}
	f.confirmed(t, with, nices(3), 0)
	f.confirmed(t, without, nil, 0)
	assert.Positive(t, with.Confirming.Len())
	assert.Nil(t, without.Cells[1].Why.Confirmed)
	assert.Greater(t, with.Cells[1].Why.Rounds, without.Cells[1].Why.Rounds, "the parts of the time are in the confirming samples too")
	with.Matrix.Candidates, with.Cells[1].Why, without.Cells[1].Why = nil, nil, nil
	assert.Equal(t, document(t, without.Cells), document(t, with.Cells))
	assert.Equal(t, document(t, without.Matrix), document(t, with.Matrix))
	assert.Equal(t, document(t, without.Samples), document(t, with.Samples))
}

// TestConfirmSeeks: a difference may be claimed before its cause is known. Then rounds without a candidate come first.
func TestConfirmSeeks(t *testing.T) {
	run := workers(2)
	run.Matrix.Enough = result.EnoughAnswer
	slow := slowed(map[string]float64{"workers=1": 0.2})
	taken := fake{spoil: func(s *result.Sample, of string) {
		if slow(s, of); !s.Confirms && s.Round < 5 {
			s.Account = nil
		}
	}}.confirmed(t, run, nices(2), 0)
	before := run.Samples.Len() / 3
	why := run.Cells[1].Why
	assert.Equal(t, result.ConfirmedCause, why.Confirmed.Result)
	without := taken[slices.IndexFunc(taken, func(s result.Sample) bool { return s.Cell == 3 })].Round
	assert.Positive(t, without)
	assert.Less(t, without, 10)
	assert.Equal(t, without*3+why.Confirmed.Rounds*4, run.Confirming.Len())
	assert.Equal(t, before-5+without+why.Confirmed.Rounds, why.Rounds)

	unknown := workers(2)
	unknown.Matrix.Enough = result.EnoughAnswer
	fake{spoil: func(s *result.Sample, of string) {
		if slow(s, of); s.Account.Waiting > 1e8 { // a third in each part
			s.Account.Waiting, s.Account.Running, s.Account.Blocked = s.Account.Waiting-13e7, s.Account.Running+65e6, s.Account.Blocked+65e6
		}
	}}.confirmed(t, unknown, nices(2), 0)
	assert.Empty(t, unknown.Cells[1].Why.Cause)
	assert.Nil(t, unknown.Cells[1].Why.Confirmed)
	assert.Equal(t, 20*3, unknown.Confirming.Len())
}

// TestConfirmGoesOn: which sample comes next follows from those before it, so that a run goes on from its journal; also where causes are
// confirmed before the question is answered.
func TestConfirmGoesOn(t *testing.T) {
	for _, budget := range []float64{0, 30} {
		run := workers(4)
		if run.Matrix.Enough = result.EnoughAnswer; budget > 0 {
			run.Matrix.Enough, run.Matrix.Precision = result.EnoughPrecision, 0.0001
		}
		f := fake{spoil: slowed(map[string]float64{"workers=1": 0.04, "workers=2": 0.06, "candidate 1": 0.04})}
		taken := f.confirmed(t, run, nices(4), budget)
		again := workers(4)
		again.Matrix = run.Header().Matrix
		judging := newJudging(t, again)
		mixed := 0
		for i, s := range taken {
			want := judging.Next()
			if s.Confirms {
				require.NotNil(t, judging.Confirming(), i)
				require.False(t, judging.Confirming().Done(), i)
				want = judging.Confirming().Place()
			} else if again.Confirming.Len() > 0 {
				mixed++
			}
			want.Elapsed = s.Elapsed
			require.Equal(t, want, *s.Slot, i)
			again.Take(s)
			require.NoError(t, judging.Add(s))
			require.InDelta(t, s.Elapsed, judging.Elapsed(), 1e-9)
		}
		judging.Judge()
		matrix.Explain(again, false)
		assert.Equal(t, document(t, run.Cells), document(t, again.Cells))
		assert.Equal(t, result.ConfirmedNot, again.Cells[1].Why.Confirmed.Result)
		assert.Equal(t, result.ConfirmedCause, again.Cells[2].Why.Confirmed.Result)
		if budget == 0 {
			assert.Zero(t, mixed, "the question is answered first")
			continue
		}
		assert.Positive(t, mixed, "the rest of the budget is for the question")
		assert.LessOrEqual(t, taken[len(taken)-1].Elapsed, budget+1e-9)
		first := again.Confirming.At(0)
		assert.Greater(t, first.Elapsed, budget/2)
	}
}

// TestConfirmUntried: what no flag sets alone, or what may not be set, is not tried, and the run says why.
func TestConfirmUntried(t *testing.T) {
	lacking := nices(3)
	lacking[1].Lacking = "that needs CAP_SYS_NICE"
	for name, c := range map[string]struct {
		part       string
		candidates []result.Candidate
		want       string
	}{
		"no flag":     {"kernel", nices(3), "no flag of gorun sets this cause alone"},
		"not here":    {"waiting", nices(1), "no flag of gorun sets this cause alone"},
		"not allowed": {"waiting", lacking, "that needs CAP_SYS_NICE"},
	} {
		run := workers(3)
		fake{spoil: accounted(1, "workers=1", c.part, 0.04)}.confirmed(t, run, c.candidates, 0)
		is := run.Cells[1].Why.Confirmed
		require.NotNil(t, is, name)
		assert.Equal(t, []string{result.ConfirmedUntried, c.want}, []string{is.Result, is.Why}, name)
		assert.Zero(t, run.Confirming.Len(), name)
		assert.Equal(t, name == "not allowed", is.Candidate != nil, name)
	}
}

// TestConfirmPins: migrations are taken away by one CPU, unless the program has other threads.
func TestConfirmPins(t *testing.T) {
	for name, c := range map[string]struct {
		others uint64
		result string
	}{"one thread": {0, result.ConfirmedCause}, "threads": {5e7, result.ConfirmedUntried}} {
		run := workers(2)
		candidates := []result.Candidate{{Cell: 1, Axis: result.AxisCPUs, Value: "3"}}
		fake{spoil: func(s *result.Sample, of string) {
			account := accounted(1, "workers=1", "user", 0.04)
			account(s, of)
			moves := uint64(0)
			if of == "workers=1" {
				moves = 100 + uint64(s.Seconds*100)
			}
			s.Quality.Signals.Migrations, s.Account.Others = &moves, c.others
		}}.confirmed(t, run, candidates, 0)
		why := run.Cells[1].Why
		require.Contains(t, why.ExplainedBy, "migrations", name)
		assert.Equal(t, c.result, why.Confirmed.Result, name)
	}
}

// TestConfirmGivesUp: a candidate whose samples are invalid ends the confirming; the verdicts stand.
func TestConfirmGivesUp(t *testing.T) {
	run := workers(2)
	slow := slowed(map[string]float64{"workers=1": 0.04})
	fake{spoil: func(s *result.Sample, of string) {
		slow(s, of)
		invalidate("candidate 1", 2, "it failed")(s, of)
	}}.confirmed(t, run, nices(2), 0)
	is := run.Cells[1].Why.Confirmed
	assert.Equal(t, []any{result.ConfirmedUnknown, 2, "it failed"}, []any{is.Result, is.Rounds, is.Why})
	assert.Equal(t, 5*4, run.Confirming.Len())
	assert.NotZero(t, run.Claims(1))
}

// TestConfirmEndsWithTheBudget: no confirming round begins that would not end within the budget.
func TestConfirmEndsWithTheBudget(t *testing.T) {
	run := workers(2)
	run.Matrix.Enough = result.EnoughAnswer
	taken := fake{spoil: slowed(map[string]float64{"workers=1": 0.04, "candidate 1": 0.02})}.confirmed(t, run, nices(2), 15)
	is := run.Cells[1].Why.Confirmed
	assert.Equal(t, []string{result.ConfirmedUnknown, "the run ended before"}, []string{is.Result, is.Why})
	assert.Positive(t, is.Rounds)
	last := taken[len(taken)-1].Elapsed
	assert.LessOrEqual(t, last, 15+1e-9)
	assert.Greater(t, last, 15-0.5, "a round takes 0.4 s")
}

// TestConfirmLater: a cell whose difference is claimed after others were confirmed is confirmed too.
func TestConfirmLater(t *testing.T) {
	run := workers(3)
	run.Matrix.Enough, run.Matrix.Precision = result.EnoughPrecision, 0.0001
	fake{spoil: slowed(map[string]float64{"workers=1": 0.04, "workers=2": 0.002})}.confirmed(t, run, nices(3), 80)
	first, later := map[int]bool{}, map[int]bool{} // the cells of the first round, and of later ones
	for _, s := range run.Confirming.Each() {
		if later[s.Cell] = true; s.Round == 0 {
			first[s.Cell] = true
		}
	}
	assert.Equal(t, []bool{true, false}, []bool{first[1], first[2]})
	assert.True(t, later[2])
	assert.Equal(t, result.ConfirmedCause, run.Cells[1].Why.Confirmed.Result)
}

// TestConfirmSeeksWhatExplains: a part may be known to be the cause before what explains it is. Then rounds without a candidate come first too.
func TestConfirmSeeksWhatExplains(t *testing.T) {
	run := workers(2)
	run.Matrix.Enough = result.EnoughAnswer
	account := accounted(1, "workers=1", "user", 0.2)
	taken := fake{spoil: func(s *result.Sample, of string) {
		account(s, of)
		moves := uint64(0)
		if of == "workers=1" {
			moves = 5000
		}
		s.Quality.Signals.Migrations = &moves
	}}.confirmed(t, run, []result.Candidate{{Cell: 1, Axis: result.AxisCPUs, Value: "3"}}, 0)
	tried := slices.IndexFunc(taken, func(s result.Sample) bool { return s.Cell == len(run.Cells) })
	require.Positive(t, tried)
	assert.True(t, taken[tried].Confirms)
	assert.Positive(t, taken[tried].Round, "some rounds have no candidate")
	assert.Equal(t, result.AxisCPUs, run.Cells[1].Why.Confirmed.Candidate.Axis)
}
