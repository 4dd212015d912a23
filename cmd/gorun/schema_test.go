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

	"gorun/internal/linux"
	"gorun/internal/result"
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

// The JSON of every command, on stdout and in a journal, conforms to the schema.
func TestOutputIsAsTheSchemaSays(t *testing.T) {
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	cpu := strconv.Itoa(allowed.First())
	journals := t.TempDir()
	run, line := definition(t, "Run"), definition(t, "Line")
	for name, c := range map[string]struct {
		kernels bool // needs kernels in C, which a build without cgo lacks
		two     bool // needs two CPUs
		args    string
		script  string // run by a shell
	}{
		"primes":  {args: "primes --limit 1000 --workers 7 --pin-cpus all --samples 2 --workers-detail"},
		"matrix":  {args: "matrix primes --limit 1000 --workers 2,4 --samples 2"},
		"contend": {args: "contend --op faa-go --load cpu-increase --time 20ms --samples 2"},
		"c2c":     {kernels: true, two: true, args: "c2c --pairs per-llc --budget 1s"},
		"numa": {kernels: true, args: "numa --mem float --cpu float,0 --preferred-node none --numa-balancing keep --load 20 " +
			"--buffer 64KiB --accesses 1000 --repetitions 2 --samples 2"},
		"rows": {kernels: true, args: "numa --mem float --cpu float --preferred-node none --numa-balancing keep --load 0 " +
			"--buffer 64KiB --accesses 1000 --samples 1 --blocks"},
		"load":    {args: "numa --load-only --load 10 --duration 100ms --cpus " + cpu},
		"pair":    {kernels: true, args: "pair " + cpu + " " + cpu + " 2000 --samples 2"},
		"talk":    {kernels: true, args: "pair --auto 300 --work pingpong-pipe --samples 2"},
		"bind":    {kernels: true, args: "bind --processes 2 --trials 2 --checks 500 --array 64KiB --passes 8"},
		"migrate": {kernels: true, args: "migrate --working-set 16KiB --moves 3 --samples 2"},
		"exec":    {args: "exec --stat --", script: "exit 5"},
		"placements": {
			two: true, args: "exec --placements auto --samples 2 --metric n=([0-9]+) --better lower --", script: "echo n=12",
		},
		"failures": {args: "matrix exec --nice 18,19 --samples 1 --", script: "[ $(nice) = 18 ]"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.kernels && !linux.Cgo {
				t.Skip("a build without cgo has no kernels")
			}
			if c.two && allowed.Len() < 2 {
				t.Skip("it needs two CPUs")
			}
			journal := filepath.Join(journals, name+".jsonl")
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
		t.Run("plan of "+args, func(t *testing.T) {
			words := strings.Fields(args)
			words = slices.Insert(words, 1+strings.Count(words[0], "matrix"), "--dry-run", "--format", "json", "--sysroot",
				"../../testdata/hosts/qemu-numa2.txtar")
			out, err := gorunCommand(words...).Output()
			require.NoError(t, err)
			conforms(t, plan, string(out))
		})
	}
	t.Run("comparison", func(t *testing.T) {
		journal := filepath.Join(journals, "matrix.jsonl")
		out, err := gorunCommand("compare", journal, journal, "--format", "json").Output()
		require.NoError(t, err)
		conforms(t, definition(t, "Comparison"), string(out))
	})
}
