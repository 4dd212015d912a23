package linux

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseSched(t *testing.T) {
	for text, want := range map[string]Sched{
		"other":   {SchedOther, 0},
		"batch":   {SchedBatch, 0},
		"idle":    {SchedIdle, 0},
		"fifo:1":  {SchedFIFO, 1},
		"fifo:99": {SchedFIFO, 99},
		"rr:10":   {SchedRR, 10},
	} {
		got, err := ParseSched(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
		assert.Equal(t, text, got.String())
	}
	assert.Equal(t, []string{"other", "batch", "idle", "fifo:P", "rr:P"}, PolicyUsages())
}

func TestParseSchedRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":           "one of other, batch, idle, fifo:P, rr:P",
		"Other":      "one of",
		"fifo":       "from 1 to 99",
		"fifo:":      "from 1 to 99",
		"fifo:0":     "from 1 to 99",
		"fifo:100":   "from 1 to 99",
		"fifo:257":   "from 1 to 99",
		"rr:-1":      "from 1 to 99",
		"rr:1:2":     "from 1 to 99",
		"other:1":    "no priority",
		"deadline":   "not set",
		"deadline:1": "not set",
	} {
		_, err := ParseSched(text)
		require.ErrorIs(t, err, ErrSched, text)
		assert.ErrorContains(t, err, says, text)
	}
}
