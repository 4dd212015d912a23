package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/result"
)

// The time of --prepare is in no sample. It is at least that of its sleep, however slow the machine is, and so the samples have at
// most the rest of the time of the whole run.
func TestPreparationIsNotTimed(t *testing.T) {
	const sleep = 200 * time.Millisecond
	begun := time.Now()
	out, err := gorunCommand("ab", "true", "true", "--prepare", "sleep 0.2", "--samples", "1", "--warmup", "0", "--quiet",
		"--format", "json").Output()
	took := time.Since(begun).Seconds()
	require.NoError(t, err)
	var run result.Run
	require.NoError(t, json.Unmarshal(out, &run))
	require.Len(t, run.Samples, 3) // with the control's
	for _, sample := range run.Samples {
		took -= sleep.Seconds() + sample.Seconds
	}
	assert.Positive(t, took)
}
