package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/work/fleet"
)

// visiting is a visit by a process of gorun's, which has measured something.
type visiting struct {
	cmd    *exec.Cmd
	file   string
	stderr bytes.Buffer
}

func startVisit(t *testing.T) *visiting {
	t.Helper()
	dir := t.TempDir()
	v := &visiting{cmd: gorunCommand("fleet", "node", "--out", dir, "--node", "n1", "--budget", "100h")}
	v.cmd.Stderr = &v.stderr
	require.NoError(t, v.cmd.Start())
	t.Cleanup(func() { _ = v.cmd.Process.Kill() })
	tests.Await(t, "second line", func() bool {
		found := tests.Glob(t, dir+"/n1/*/*.part")
		if len(found) == 0 {
			return false
		}
		v.file = found[0]
		return len(v.lines(t)) > 1
	})
	return v
}

// lines returns the whole lines of the file.
func (v *visiting) lines(t *testing.T) (lines []fleet.Line) {
	t.Helper()
	text := tests.Read(t, v.file)
	for line := range bytes.Lines(text) {
		if bytes.HasSuffix(line, []byte("\n")) {
			var l fleet.Line
			require.NoError(t, json.Unmarshal(line, &l), "%s", line)
			lines = append(lines, l)
		}
	}
	return lines
}

// A visit that is killed leaves its file as .part, with whole lines.
func TestLiveFleetNodeKilled(t *testing.T) {
	tests.Live(t)
	v := startVisit(t)
	require.NoError(t, v.cmd.Process.Kill())
	require.Error(t, v.cmd.Wait())
	lines := v.lines(t)
	assert.NotNil(t, lines[0].Visit)
	for _, line := range lines {
		assert.Nil(t, line.End)
	}
}

// A disk that becomes full ends the visit with an error that names the file.
func TestLiveFleetNodeFullDisk(t *testing.T) {
	tests.Live(t)
	v := startVisit(t)
	limitFiles(t, v.cmd.Process.Pid, 1)
	var ended *exec.ExitError
	require.ErrorAs(t, v.cmd.Wait(), &ended)
	assert.Equal(t, exitFailed, ended.ExitCode())
	assert.Contains(t, v.stderr.String(), "gorun: error: --out: cannot write "+v.file+": file too large\ngorun: hint: ")
	assert.NotNil(t, v.lines(t)[0].Visit)
}
