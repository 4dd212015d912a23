package run

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/column"
	"gorun/internal/result"
)

// The displayed course of a run, with a fake clock.
func TestTallyOfACourse(t *testing.T) {
	at := time.Unix(0, 0)
	var tally tally
	tally.begin(func() time.Time { return at })
	pass := func(seconds float64) { at = at.Add(time.Duration(seconds * float64(time.Second))) }
	read := func() result.Live { return tally.combined(func() result.Live { return result.Live{} }) }

	pass(7) // it prepares
	live := read()
	assert.InDelta(t, 7, live.Elapsed, 1e-9)
	assert.Nil(t, live.Left, "nothing is planned yet")

	tally.plan(result.Course{Samples: 4, Budget: 100}, 30) // it took 30 s before a resume
	pass(5)
	assert.InDelta(t, 35, read().Elapsed, 1e-9)
	require.NotNil(t, read().Left)
	assert.InDelta(t, 65, *read().Left, 1e-9, "until the budget")
	tally.add(result.Sample{Seconds: 5})
	assert.InDelta(t, 65, *read().Left, 1e-9, "less than three more such samples")
	assert.Equal(t, 1, read().Taken.Samples)

	tally.setStanding(result.Standing{Left: -1})
	assert.Nil(t, read().Left, "a matrix knows better")
	tally.setStanding(result.Standing{Left: 12})
	assert.InDelta(t, 12, *read().Left, 1e-9)

	assert.False(t, read().Finished)
	tally.end()
	pass(1000) // it lingers
	live = read()
	assert.True(t, live.Finished)
	assert.InDelta(t, 35, live.Elapsed, 1e-9)
	assert.Zero(t, *live.Left)
}

// Migrations that were recorded individually are counted by relation, also those of a sample that was read from a journal.
func TestTallyOfMigrations(t *testing.T) {
	type figures struct {
		Migrations *result.Migrations `json:"migrations,omitempty"`
	}
	tally := tally{columns: column.Of[figures]()}
	counted := uint64(9)
	tally.add(result.Sample{Quality: result.Quality{Signals: result.Signals{Migrations: &counted}}})
	var read result.Sample
	text := `{"values":{"migrations":{"total":10,"same_core":1,"same_llc":2,"same_node":3,"cross_node":4}}}`
	require.NoError(t, json.Unmarshal([]byte(text), &read))
	tally.add(read)
	assert.Equal(t, map[string]uint64{
		"same-core": 1, "same-llc": 2, "same-node": 3, "cross-node": 4, result.UnknownRelation: counted,
	}, tally.work.Taken.Migrations)
}
