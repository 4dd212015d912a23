package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/dev/tests"
	"gorun/internal/record/result"
)

// schemaDefs returns the definitions of result.JSONSchema.
var schemaDefs = sync.OnceValues(func() (of map[string]*jsonschema.Schema, err error) {
	const at = "schema.json"
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(result.JSONSchema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(at, document); err != nil {
		return nil, err
	}
	of = map[string]*jsonschema.Schema{}
	for _, name := range []string{"Run", "Line", "Plan", "Comparison"} {
		if of[name], err = compiler.Compile(at + "#/$defs/" + name); err != nil {
			return nil, err
		}
	}
	return of, nil
})

// conform returns an error unless JSON of gorun conforms to the schema: a run, a line of a journal, a plan or a comparison.
func conform(text string) error {
	of, err := schemaDefs()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	document, _ := value.(map[string]any)
	name := "Plan"
	for key, is := range map[string]string{"samples": "Run", "crc32": "Line", "only_a": "Comparison"} {
		if document[key] != nil {
			name = is
		}
	}
	if err := of[name].Validate(value); err != nil {
		return fmt.Errorf("%w: %.2000s", err, text)
	}
	return nil
}

// The JSON of recorded runs of every command conforms to the schema, as a journal and as the output that is made of it. That of
// this machine's runs, plans and comparisons does so in scripts: see jq.
func TestRecordedRunsAreAsTheSchemaSays(t *testing.T) {
	recorded := tests.Glob(t, "../../testdata/runs/*.txtar")
	require.NotEmpty(t, recorded)
	journal := filepath.Join(t.TempDir(), "run.jsonl")
	for _, path := range recorded {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(journal, archive.Files[0].Data, 0o600))
		o := dryRun(t, []string{"compare", journal, "--format", "json"})
		require.Zero(t, o.code, "%s: %s", path, o.stderr)
		require.NoError(t, conform(o.stdout))
		for l := range strings.Lines(string(archive.Files[0].Data)) {
			require.NoError(t, conform(l))
		}
	}
}
