package run

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
)

// The displayed extent of a run, with a fake clock.
func TestLiveState(t *testing.T) {
	at := time.Unix(0, 0)
	var state liveState
	state.begin(func() time.Time { return at })
	pass := func(seconds float64) { at = at.Add(time.Duration(seconds * float64(time.Second))) }
	read := func() result.State { return state.combined(func() result.State { return result.State{} }) }

	pass(7) // it prepares
	live := read()
	assert.InDelta(t, 7, live.Elapsed, 1e-9)
	assert.Nil(t, live.Left, "nothing is planned yet")

	state.plan(result.Extent{Samples: 4, Budget: 100}, 30) // it took 30 s before a resume
	pass(5)
	assert.InDelta(t, 35, read().Elapsed, 1e-9)
	require.NotNil(t, read().Left)
	assert.InDelta(t, 65, *read().Left, 1e-9, "until the budget")
	state.add(result.Sample{Seconds: 5})
	assert.InDelta(t, 65, *read().Left, 1e-9, "less than three more such samples")
	assert.Equal(t, 1, read().Totals.Samples)

	state.setInterim(result.Interim{Left: -1})
	assert.Nil(t, read().Left, "a matrix knows better")
	state.setInterim(result.Interim{Left: 12})
	assert.InDelta(t, 12, *read().Left, 1e-9)

	assert.False(t, read().Finished)
	state.end()
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
	state := liveState{columns: column.Of[figures]()}
	counted := uint64(9)
	state.add(result.Sample{Quality: result.Quality{Signals: result.Signals{Migrations: &counted}}})
	var read result.Sample
	text := `{"values":{"migrations":{"total":10,"same_core":1,"same_llc":2,"same_node":3,"cross_node":4}}}`
	require.NoError(t, json.Unmarshal([]byte(text), &read))
	state.add(read)
	assert.Equal(t, map[string]uint64{
		"same-core": 1, "same-llc": 2, "same-node": 3, "cross-node": 4, result.UnknownRelation: counted,
	}, state.work.Totals.Migrations)
}
