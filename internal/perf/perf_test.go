package perf

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEventString(t *testing.T) {
	assert.Equal(t, "migrations", Migrations.String())
	assert.Equal(t, "context switches", ContextSwitches.String())
	assert.Equal(t, "event 9", Event(9).String())
}

// On any machine there is the exact method, or the other one with a reason, or an error with a reason.
func TestOpenSaysWhatItCouldNotDo(t *testing.T) {
	for _, event := range []Event{Migrations, ContextSwitches} {
		c, err := Open(event)
		if err != nil {
			assert.True(t, hinted(err), "%v has no hint", err)
			continue
		}
		if c.Method() == Software {
			assert.NoError(t, c.Degraded())
		} else {
			assert.Equal(t, SchedDebug, c.Method())
			assert.Error(t, c.Degraded())
		}
		_, err = c.Read()
		assert.NoError(t, err)
		assert.NoError(t, c.Close())
	}
}

func TestOpenOfNoEvent(t *testing.T) {
	_, err := Open(Event(9))
	assert.ErrorContains(t, err, "event 9 cannot be counted")
}

// hinted reports whether an error has a hint.
func hinted(err error) bool {
	var h interface{ Hint() string }
	return errors.As(err, &h) && h.Hint() != ""
}

func TestOpenMigrations(t *testing.T) {
	c, err := OpenMigrations()
	if err != nil {
		t.Skip("needs a way to count migrations")
	}
	defer func() { require.NoError(t, c.Close()) }()
	_, err = c.Read()
	require.NoError(t, err)
}
