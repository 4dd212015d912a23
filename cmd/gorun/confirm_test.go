package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/record/result"
)

// hogs keeps a CPU busy by several programs until the test ends.
func hogs(t *testing.T, cpu int) {
	for range 4 {
		hog := exec.CommandContext(t.Context(), "taskset", "-c", fmt.Sprint(cpu), "sh", "-c", "while :; do :; done")
		require.NoError(t, hog.Start())
		t.Cleanup(func() {
			_ = hog.Process.Kill()
			_ = hog.Wait()
		})
	}
}

// waitingCommands are two commands: one that waits for nobody, and one on a CPU that others use.
func waitingCommands(cpus []int) []string {
	const loop = "sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'"
	return []string{fmt.Sprintf("nice -n -20 taskset -c %d %s", cpus[0], loop), fmt.Sprintf("taskset -c %d %s", cpus[1], loop)}
}

// A cell that waits for a CPU beside others waits no longer with a lower nice value: the cause is confirmed. Other programs can make a run
// undecided: then it is repeated.
func TestLiveConfirm(t *testing.T) {
	tests.Live(t)
	tests.Root(t) // for --nice -20
	cpus := tests.CPUs(t, 2)
	hogs(t, cpus[1])
	path := filepath.Join(t.TempDir(), "run.json")
	tests.Await(t, "run that confirms the cause", func() bool {
		out, err := gorunCommand(append([]string{"ab", "--why=confirm", "--quiet", "--export-json", path}, waitingCommands(cpus)...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		var run result.Run
		require.NoError(t, json.Unmarshal(tests.Read(t, path), &run))
		why := run.Cells[1].Why
		if why == nil || why.Confirmed == nil || why.Confirmed.Result != result.ConfirmedCause {
			return false
		}
		assert.Equal(t, result.WhyWaiting, why.Cause)
		assert.Equal(t, &result.Candidate{Cell: 1, Axis: result.AxisNice, Value: "-20"}, why.Confirmed.Candidate)
		assert.Contains(t, string(bytes.Join(bytes.Fields(out), []byte(" "))), "confirmed: --nice -20 for the slower one takes away")
		for _, s := range run.Confirming.All() {
			if s.Cell == len(run.Cells)+2 {
				assert.Equal(t, "nice -20", s.Placement.Requested)
			}
		}
		return true
	})
}

// A run that is killed while it confirms a cause goes on with that.
func TestLiveConfirmResumed(t *testing.T) {
	tests.Live(t)
	tests.Root(t)
	cpus := tests.CPUs(t, 2)
	hogs(t, cpus[1])
	path := filepath.Join(t.TempDir(), "run.jsonl")
	start := func(extra ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
		args := append([]string{"ab", "--why=confirm", "--samples", "20", "--quiet", "--out", path, "--resume"}, extra...)
		cmd, stdout, stderr = gorunCommand(append(args, waitingCommands(cpus)...)...), &bytes.Buffer{}, &bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = stdout, stderr
		require.NoError(t, cmd.Start())
		return cmd, stdout, stderr
	}
	var kept []byte
	tests.Await(t, "journal of a run that was killed while it confirms a cause", func() bool {
		_ = os.Remove(path)
		cmd, _, _ := start()
		over := make(chan error, 1)
		go func() { over <- cmd.Wait() }()
		ended := false
		tests.Await(t, "confirming sample", func() bool {
			kept, _ = os.ReadFile(path) // it may not be there yet
			select {
			case <-over:
				ended = true
			default:
			}
			return ended || bytes.Contains(kept, []byte(`"confirms":true`))
		})
		if ended { // without a claim, or faster than this test
			return false
		}
		require.NoError(t, cmd.Process.Kill())
		<-over
		kept = tests.Read(t, path)
		return true
	})
	kept = kept[:bytes.LastIndexByte(kept, '\n')+1]
	cmd, stdout, stderr := start("--format", "json")
	require.NoError(t, cmd.Wait(), stderr)
	assert.True(t, bytes.HasPrefix(tests.Read(t, path), kept), "a line that was journaled is lost")
	var run result.Run
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &run))
	assert.False(t, run.Partial)
	assert.Equal(t, 20*3, run.Samples.Len())
	confirming := bytes.Count(kept, []byte(`"confirms":true`))
	assert.Greater(t, run.Confirming.Len(), confirming)
	for i, s := range run.Confirming.All() {
		assert.Equal(t, i, s.Index)
	}
	require.NotNil(t, run.Cells[1].Why.Confirmed)
	out, err := gorunCommand("journal", "verify", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	compared, err := gorunCommand("compare", "--why", path, "--format", "json").Output()
	require.NoError(t, err)
	assert.Equal(t, stdout.String(), string(compared))
}
