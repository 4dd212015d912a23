package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The time of --prepare is in no sample. It is at least that of its sleep, however slow the machine is, and so the samples have at
// most the rest of the time of the whole run.
func TestPreparationIsNotTimed(t *testing.T) {
	const sleep = 200 * time.Millisecond
	begun := time.Now()
	run := runOf(t, "ab", "true", "true", "--prepare", "sleep 0.2", "--samples", "1", "--warmup", "0")
	took := time.Since(begun).Seconds()
	require.Equal(t, 3, run.Samples.Len()) // with the control's
	for _, sample := range run.Samples.All() {
		took -= sleep.Seconds() + sample.Seconds
	}
	assert.Positive(t, took)
}
