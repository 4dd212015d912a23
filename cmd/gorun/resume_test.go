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

	"gorun/internal/result"
)

// resumes are the number of kills, the time within which each comes, and the rounds of the matrix, which it cannot complete
// before the last kill.
func resumes() (kills, rounds int, within time.Duration) {
	if raced {
		return 20, 40, 300 * time.Millisecond
	}
	return 50, 160, 70 * time.Millisecond
}

// A matrix that is killed at random moments and resumed has every cell at the end, every sample once, and every sample that was
// in the journal before a kill. Its verdicts are those of the whole journal.
func TestResumeAfterKill(t *testing.T) {
	kills, rounds, within := resumes()
	journal := filepath.Join(t.TempDir(), "run.jsonl")
	start := func(extra ...string) *exec.Cmd {
		return gorunCommand(append([]string{
			"matrix", "primes", "--limit", "3000,4000,5000", "--method", "brute", "--kernel", "go", "--warmup", "1",
			"--samples", strconv.Itoa(rounds), "--quiet", "--out", journal, "--resume",
		}, extra...)...)
	}
	source := rand.New(rand.NewPCG(3, 5))
	var kept []byte
	for killed := 0; killed < kills; {
		cmd := start()
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		time.Sleep(time.Duration(source.Int64N(int64(within))))
		if cmd.Process.Signal(syscall.SIGKILL) == nil {
			killed++
		}
		err := cmd.Wait()
		var ended *exec.ExitError
		require.Error(t, err, "all samples were taken before kill %d", killed)
		require.ErrorAs(t, err, &ended)
		require.Equal(t, syscall.SIGKILL, ended.Sys().(syscall.WaitStatus).Signal(), "%s", stderr.String())
		now, err := os.ReadFile(journal)
		if err != nil {
			continue // it was killed before it began
		}
		whole := kept[:bytes.LastIndexByte(kept, '\n')+1]
		require.True(t, bytes.HasPrefix(now, whole), "a line that was journaled is lost")
		kept = now
	}
	cmd := start("--format", "json")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	first, err := cmd.Output()
	require.NoError(t, err, stderr.String())

	var run result.Run
	require.NoError(t, json.Unmarshal(first, &run))
	require.Len(t, run.Cells, 3)
	assert.False(t, run.Partial)
	taken := map[string]int{}
	for i, s := range run.Samples {
		assert.Equal(t, i, s.Index)
		require.NotNil(t, s.Slot)
		taken[strconv.Itoa(s.Round)+" "+strconv.Itoa(s.Cell)+" "+strconv.FormatBool(s.Control)]++
	}
	assert.Len(t, taken, rounds*4, "three cells and the control in each round")
	assert.Len(t, run.Samples, rounds*4, "each of them once")
	for i, cell := range run.Cells {
		assert.Equal(t, i != run.Matrix.Baseline, cell.Verdict != nil, cell.Name)
		assert.NotNil(t, cell.Summary, cell.Name)
	}

	// Reading and judging the journal again gives the same result.
	second, err := start("--format", "json").Output()
	require.NoError(t, err)
	assert.Equal(t, string(first), string(second))
	third, err := gorunCommand("compare", journal, "--format", "json").Output()
	require.NoError(t, err)
	assert.Equal(t, string(first), string(third))
}
