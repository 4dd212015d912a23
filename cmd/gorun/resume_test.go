package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/record/result"
)

// resumeAfterKill kills a matrix at random moments, and resumes it: it has every cell at the end, every sample once, and every sample
// that was in the journal before a kill. Its verdicts are those of the whole journal.
func resumeAfterKill(t *testing.T, _ fault) {
	const kills, most = 50, 3           // samples that a run may complete before it is killed
	const rounds = kills*(most+1)/4 + 1 // more samples than that: three cells and the control in each round
	gate := newGate(t)
	journal := filepath.Join(t.TempDir(), "run.jsonl")
	start := func(extra ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
		args := append([]string{
			"matrix", "exec", "--nice", "0,1,2", "--warmup", "0", "--samples", strconv.Itoa(rounds), "--quiet", "--out", journal, "--resume",
		}, extra...)
		cmd, stdout, stderr = gorunCommand(append(args, "--", gate.command)...), &bytes.Buffer{}, &bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = stdout, stderr
		require.NoError(t, cmd.Start())
		return cmd, stdout, stderr
	}
	// toEnd runs to the end.
	toEnd := func() string {
		cmd, stdout, stderr := start("--format", "json")
		over := make(chan error, 1)
		go func() { over <- cmd.Wait() }()
		require.NoError(t, gate.openUntil(over), stderr)
		return stdout.String()
	}
	random := rand.New(rand.NewPCG(3, 5))
	var kept []byte
	for range kills {
		cmd, _, stderr := start()
		for range random.IntN(most + 1) {
			tests.Await(t, "command", gate.open)
		}
		tests.Pause(time.Duration(random.Int64N(int64(50 * time.Millisecond))))
		require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
		var ended *exec.ExitError
		require.ErrorAs(t, cmd.Wait(), &ended)
		require.Equal(t, syscall.SIGKILL, ended.Sys().(syscall.WaitStatus).Signal(), "%s", stderr)
		now, err := os.ReadFile(journal)
		if err != nil {
			continue // it was killed before it began
		}
		whole := kept[:bytes.LastIndexByte(kept, '\n')+1]
		require.True(t, bytes.HasPrefix(now, whole), "a line that was journaled is lost")
		kept = now
	}
	require.NotEmpty(t, kept)
	first := toEnd()

	var run result.Run
	require.NoError(t, json.Unmarshal([]byte(first), &run))
	require.Len(t, run.Cells, 3)
	assert.False(t, run.Partial)
	taken := map[string]int{}
	for i, s := range run.Samples.All() {
		assert.Equal(t, i, s.Index)
		require.NotNil(t, s.Slot)
		taken[strconv.Itoa(s.Round)+" "+strconv.Itoa(s.Cell)+" "+strconv.FormatBool(s.Control)]++
	}
	assert.Len(t, taken, rounds*4, "three cells and the control in each round")
	assert.Equal(t, rounds*4, run.Samples.Len(), "each of them once")
	for i, cell := range run.Cells {
		assert.Equal(t, i != run.Matrix.Baseline, cell.Verdict != nil, cell.Name)
		assert.NotNil(t, cell.Summary, cell.Name)
	}

	// Reading and judging the journal again gives the same result.
	assert.Equal(t, first, toEnd())
	compared, err := gorunCommand("compare", journal, "--format", "json").Output()
	require.NoError(t, err)
	assert.Equal(t, first, string(compared))
}
