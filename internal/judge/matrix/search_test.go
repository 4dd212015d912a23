package matrix_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/judge/matrix"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// history returns a search in a straight history of n cells.
func history(n int) *result.Run {
	run := workers(n)
	run.Matrix.Rules, run.Matrix.Order, run.Matrix.Rounds = matrix.Rules, matrix.Searched, 200
	run.Matrix.History = [][]int{{}}
	for i := range n - 1 {
		run.Matrix.History = append(run.Matrix.History, []int{i})
	}
	return run
}

// changedFrom returns noise in which the time of the cells from one on is multiplied by a ratio.
func changedFrom(run *result.Run, first int, ratio float64) fake {
	f := fake{ratios: map[string]float64{}}
	for _, cell := range run.Cells[first:] {
		f.ratios[matrix.Canonical(cell)] = ratio
	}
	return f
}

// slowFrom returns noise in which the cells from one on take half as long again.
func slowFrom(run *result.Run, first int) fake { return changedFrom(run, first, 1.5) }

// search takes samples until a search ends.
func (f fake) search(t *testing.T, run *result.Run) *matrix.Search {
	t.Helper()
	search, err := matrix.NewSearch(run, column.Common())
	require.NoError(t, err)
	for !search.Done() {
		s := f.take(run, search.Place())
		elapsed := s.Elapsed
		search.Check(&s, elapsed)
		s.Elapsed = elapsed
		run.Samples.Append(&s)
		require.NoError(t, search.Add(s, s.Elapsed))
	}
	search.Judge()
	return search
}

func TestSearchFinds(t *testing.T) {
	run := history(8)
	slowFrom(run, 5).search(t, run)
	cell, named := run.Matrix.Search.Named()
	assert.Equal(t, []any{5, true}, []any{cell, named})
	assert.Nil(t, run.Cells[1].Summary, "it was not tried")
	assert.Positive(t, run.Cells[4].Summary.Samples)

	// The same samples give the same places, so that a run can go on from its journal.
	again, err := matrix.NewSearch(run, column.Common())
	require.NoError(t, err)
	assert.Equal(t, "stage 1, 7 revisions left: ", again.Stage())
	for _, s := range run.Samples.Each() {
		want := again.Place()
		want.Elapsed = s.Elapsed
		require.Equal(t, want, *s.Slot)
		require.NoError(t, again.Add(*s, s.Elapsed))
	}
	assert.True(t, again.Done())
	assert.Equal(t, "stage 5, 1 revision left: ", again.Stage())
	assert.Equal(t, result.Slot{}, again.Place())
}

// If a longer time is better, the cell is found from which on the time is shorter.
func TestSearchFindsFaster(t *testing.T) {
	for _, ratio := range []float64{0.6, 1.5} {
		run := history(8)
		run.Matrix.Better = result.Higher
		changedFrom(run, 5, ratio).search(t, run)
		cell, named := run.Matrix.Search.Named()
		if ratio > 1 {
			assert.False(t, named, "it is slower")
			continue
		}
		assert.Equal(t, []any{5, true}, []any{cell, named})
		assert.Less(t, run.Cells[5].Summary.Seconds.Median, run.Cells[4].Summary.Seconds.Median, "a time, not its inverse")
	}
}

// A cell whose first sample is invalid is skipped: it does not build.
func TestSearchSkipsCells(t *testing.T) {
	run := history(8)
	f := slowFrom(run, 5)
	broken := map[string]bool{matrix.Canonical(run.Cells[3]): true}
	f.spoil = func(s *result.Sample, cell string) {
		if broken[cell] {
			s.Quality = result.Quality{Grade: result.Invalid, Reasons: []string{"it does not build"}}
		}
	}
	f.search(t, run)
	cell, named := run.Matrix.Search.Named()
	assert.Equal(t, []any{5, true}, []any{cell, named})
	assert.Equal(t, map[int]string{3: "it does not build"}, run.Matrix.Search.Skipped)
	assert.Equal(t, 1, run.ByCell()[3].Len(), "it is not tried again")

	run = history(8)
	broken = map[string]bool{matrix.Canonical(run.Cells[4]): true, matrix.Canonical(run.Cells[5]): true}
	f.search(t, run)
	_, named = run.Matrix.Search.Named()
	assert.False(t, named)
	assert.True(t, run.Matrix.Search.Confirmed())
	assert.Equal(t, []int{4, 5, 6}, run.Matrix.Search.Left)

	run = history(8)
	broken = map[string]bool{matrix.Canonical(run.Cells[7]): true}
	f.search(t, run)
	stages := run.Matrix.Search.Stages
	assert.Len(t, stages, 1)
	assert.Equal(t, stats.Skips, stages[0].Goes)
}

// A cell of which too many samples are invalid is not judged, even if never three in a row are.
func TestSearchSpoilt(t *testing.T) {
	run := history(2)
	f := slowFrom(run, 1)
	taken := 0
	f.spoil = func(s *result.Sample, cell string) {
		if cell != matrix.Canonical(run.Cells[1]) {
			return
		}
		if taken++; taken%5 == 4 {
			s.Quality = result.Quality{Grade: result.Invalid, Reasons: []string{"exit code 1"}}
		}
	}
	f.search(t, run)
	_, named := run.Matrix.Search.Named()
	assert.False(t, named)
	assert.Equal(t, map[int]string{1: "3 of 14 samples of --workers 1 are invalid: exit code 1"}, run.Matrix.Search.Skipped)
}

// A stage ends with its budget, which begins after its first round.
func TestSearchExpires(t *testing.T) {
	run := history(3)
	run.Matrix.Budget = 1
	slowFrom(run, 2).search(t, run)
	stages := run.Matrix.Search.Stages
	require.Len(t, stages, 1)
	assert.Equal(t, stats.Undecided, stages[0].Goes)
	assert.Equal(t, 4, stages[0].Rounds, "a round of three samples takes 0.3 s in these tests")
}
