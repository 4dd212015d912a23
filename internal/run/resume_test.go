package run

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/judge/journal"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
	"gorun/internal/start/launch"
)

func TestWithFlags(t *testing.T) {
	args := []string{"matrix", "exec", "--nice", "0,1", "--", "exec"}
	assert.Equal(t, []string{"matrix", "exec", "--resume", "--nice", "0,1", "--", "exec"}, withFlags(args, "--resume"))
	assert.Len(t, args, 6)
}

// An interrupted run with a journal prints the command to resume it, quoted for a shell.
func TestSayHowToGoOn(t *testing.T) {
	says := func(resume, resumes bool, args ...string) string {
		r := newTestRun(t, matrix.RandomBlocks, 2, Options{resume: resume, resumes: resumes})
		var stderr bytes.Buffer
		r.env.Stderr, r.env.Args, r.env.Self, r.x.Name = &stderr, args, launch.Self{Argv: []string{"./go run"}}, "exec"
		r.printResume()
		return stderr.String()
	}
	assert.Equal(t, "gorun: resume with: './go run' matrix exec --resume --out 'it'\\''s' -- sh -c 'a; b'\n",
		says(false, true, "matrix", "exec", "--out", "it's", "--", "sh", "-c", "a; b"))
	assert.Equal(t, "gorun: resume with: './go run' matrix exec --out x --resume -- true\n",
		says(true, true, "matrix", "exec", "--out", "x", "--resume", "--", "true"))
	assert.Equal(t, "gorun: resume with: './go run' ab --resume --out x a b\n",
		says(true, true, "ab", "--resume", "--resume-changed", "--out", "x", "a", "b"), "the journal has noted what changed")
	assert.Contains(t, says(true, true, "matrix", "exec", "curl", "http://me:secret@there"), "http://me:xxxxx@there")
	assert.Empty(t, says(false, false, "pair", "--out", "x"), "no --resume")
}

// The seed is drawn for each run, unless a flag, a file or the journal of a resumed run gives it.
func TestSeed(t *testing.T) {
	seed := func(o Options, flags ...string) uint64 {
		o.given = func(name string) bool { return len(flags) > 0 && flags[0] == name }
		o.settleSeed()
		return o.seed
	}
	drawn := map[uint64]bool{}
	for range 5 {
		drawn[seed(Options{})] = true
	}
	assert.Greater(t, len(drawn), 3, "one in 10^18 times it is not")
	assert.EqualValues(t, 7, seed(Options{seed: 7}, "seed"))
	o := Options{given: func(string) bool { return false }}
	o.settleSeed()
	o.settleSpec(matrix.Spec{Seed: new(uint64(7))})
	assert.EqualValues(t, 7, o.seed)
	assert.False(t, o.drawn)

	path := filepath.Join(t.TempDir(), "run.jsonl")
	file, err := os.Create(path)
	require.NoError(t, err)
	writer, err := journal.Create(file)
	require.NoError(t, err)
	require.NoError(t, writer.Write(result.Line{Header: &result.Run{Schema: result.Schema, Seed: 99}}))
	require.NoError(t, writer.Close())
	resumed := Options{resume: true, resultFlags: resultFlags{out: path}}
	assert.EqualValues(t, 99, seed(resumed))
	assert.NotEqualValues(t, 99, seed(Options{resultFlags: resultFlags{out: path}}))
	resumed.seed = 7
	assert.EqualValues(t, 7, seed(resumed, "seed"))
	require.NoError(t, os.WriteFile(path, []byte("no journal\n"), 0o600))
	seed(resumed) // the error is reported when the journal is opened
}
