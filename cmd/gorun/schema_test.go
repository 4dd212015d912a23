package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/result"
	"gorun/internal/tests"
)

// definition returns the schema of a definition of result.JSONSchema.
func definition(t *testing.T, name string) *jsonschema.Schema {
	const at = "schema.json"
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(result.JSONSchema))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource(at, document))
	found, err := compiler.Compile(at + "#/$defs/" + name)
	require.NoError(t, err)
	return found
}

// conforms requires that JSON conforms to a schema.
func conforms(t *testing.T, to *jsonschema.Schema, text string) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, to.Validate(value), "%.2000s", text)
}

// The JSON of recorded runs of every command conforms to the schema, as a journal and as the output that is made of it.
func TestRecordedRunsAreAsTheSchemaSays(t *testing.T) {
	run, line := definition(t, "Run"), definition(t, "Line")
	recorded, err := filepath.Glob("../../testdata/runs/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, recorded)
	journal := filepath.Join(t.TempDir(), "run.jsonl")
	for _, path := range recorded {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(journal, archive.Files[0].Data, 0o600))
		o := dryRun(t, []string{"compare", journal, "--format", "json"})
		require.Zero(t, o.code, "%s: %s", path, o.stderr)
		conforms(t, run, o.stdout)
		for l := range strings.Lines(string(archive.Files[0].Data)) {
			conforms(t, line, l)
		}
	}
	archive, err := txtar.ParseFile("../../testdata/runs/matrix.txtar")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(journal, archive.Files[0].Data, 0o600))
	o := dryRun(t, []string{"compare", journal, journal, "--format", "json"})
	require.Zero(t, o.code, o.stderr)
	conforms(t, definition(t, "Comparison"), o.stdout)
}

// So does the JSON of runs on this machine, and of plans.
func TestOutputIsAsTheSchemaSays(t *testing.T) {
	cpu := strconv.Itoa(tests.CPUs(t, 1)[0])
	run, line := definition(t, "Run"), definition(t, "Line")
	for name, c := range map[string]struct {
		args   string
		script string // run by a shell
	}{
		"primes":   {args: "primes --limit 1000 --workers 7 --pin-cpus all --samples 2 --workers-detail"},
		"load":     {args: "numa --load-only --load 10 --duration 100ms --cpus " + cpu},
		"pair":     {args: "pair " + cpu + " " + cpu + " 2000 --samples 2"},
		"bind":     {args: "bind --processes 2 --trials 2 --checks 500 --array 64KiB --passes 8"},
		"migrate":  {args: "migrate --relation same-cpu --working-set 16KiB --moves 3 --samples 2"},
		"exec":     {args: "exec --stat --", script: "exit 5"},
		"failures": {args: "matrix exec --nice 18,19 --samples 1 --", script: "[ $(nice) = 18 ]"},
	} {
		t.Run(name, func(t *testing.T) {
			journal := filepath.Join(t.TempDir(), "run.jsonl")
			args := strings.Fields(c.args)
			if c.script != "" {
				args = append(args, "sh", "-c", c.script)
			}
			own := slices.Insert(args, 1+strings.Count(args[0], "matrix"), "--format", "json", "--out", journal)
			var stderr strings.Builder
			cmd := gorunCommand(own...)
			cmd.Stderr = &stderr
			out, _ := cmd.Output() // the command may fail because its samples did
			if len(out) == 0 {     // exec leaves stdout to the command
				out = []byte(stderr.String())
			}
			conforms(t, run, string(out))
			text, err := os.ReadFile(journal)
			require.NoError(t, err)
			for l := range strings.Lines(string(text)) {
				conforms(t, line, l)
			}
		})
	}
	plan := definition(t, "Plan")
	for _, args := range []string{
		"primes --workers 4 --pin-cpus all", "contend --op faa-go", "c2c --pairs per-llc", "numa --numa-balancing 0,1",
		"pair --auto --work pingpong-shm", "bind --processes 3 --trials 2", "exec --placements auto -- x",
		"matrix primes --preset classic",
	} {
		words := strings.Fields(args)
		words = slices.Insert(words, 1+strings.Count(words[0], "matrix"), "--dry-run", "--format", "json", "--sysroot",
			"../../testdata/hosts/qemu-numa2.txtar")
		o := dryRun(t, words)
		require.Zero(t, o.code, "%s: %s", args, o.stderr)
		conforms(t, plan, o.stdout)
	}
}
