package pair

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A process that spins uses its CPU in every interval, and one that sleeps does not. The intervals end when a process
// does.
func TestWatch(t *testing.T) {
	var pids []int
	for _, script := range []string{"while :; do :; done", "exec sleep 100"} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
		require.NoError(t, cmd.Start())
		defer func() { _, _ = cmd.Process.Wait() }()
		defer func() { _ = cmd.Process.Kill() }()
		pids = append(pids, cmd.Process.Pid)
	}
	stop := watch(pids, 50*time.Millisecond)
	time.Sleep(400 * time.Millisecond)
	intervals := stop()
	require.NotEmpty(t, intervals)
	busy, end := 0.0, 0.0
	for _, interval := range intervals {
		require.Len(t, interval.CPUShares, 2)
		assert.Positive(t, interval.Seconds)
		assert.InDelta(t, end+interval.Seconds, interval.EndSeconds, 1e-9, "intervals follow each other")
		assert.Less(t, interval.CPUShares[1], 0.5, "sleep(1) starts, and sleeps")
		end, busy = interval.EndSeconds, busy+interval.CPUShares[0]*interval.Seconds
	}
	assert.Positive(t, busy)
	assert.LessOrEqual(t, busy, 1.1*end, "a process with one thread has at most one CPU")

	ended := exec.CommandContext(t.Context(), "true")
	require.NoError(t, ended.Run())
	stop = watch([]int{ended.Process.Pid}, time.Millisecond)
	time.Sleep(20 * time.Millisecond)
	assert.Empty(t, stop())
}
