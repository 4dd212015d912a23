package render

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render/rendertest"
	"gorun/internal/render/term"
	"gorun/internal/result"
)

// An experiment that this gorun does not know is shown by the names of its options and by the columns that all have.
func TestOtherExperiment(t *testing.T) {
	run := &result.Run{
		Experiment: "other", Spec: map[string]any{"trips": 7}, Command: []string{"other"},
		Samples: []result.Sample{{Seconds: 1, Values: result.FiguresOf(&struct {
			Wake float64 `json:"wake_ns"`
		}{1500})}},
	}
	table := rendertest.Show(t, all.Table, run, term.Options{})
	assert.Contains(t, table, "gorun other\n  trips 7\n")
	assert.Regexp(t, `\n  wall +1\.00 s\n`, table)
	assert.NotContains(t, table, "wake")
	lines := rendertest.Show(t, all.Benchfmt, run, term.Options{})
	assert.Regexp(t, `\nBenchmarkOther/trips=7-1 1 1e\+09 ns/op 0 user-ns/op 0 sys-ns/op\n`, lines)

	run.Matrix = &result.Matrix{Title: "Several", Datum: "wake_ns"}
	run.Cells = []result.Cell{{Name: "a"}, {Name: "b"}}
	assert.Contains(t, rendertest.Show(t, all.Table, run, term.Options{}), "Several\n  gorun other · 2 cells · ")
	run.Command = []string{"matrix", "other"}
	assert.Contains(t, rendertest.Show(t, all.Table, run, term.Options{}), "Several\n  gorun matrix other · 2 cells · ")
}

// A plan of a plain run lists its cells too, and those that the machine lacks.
func TestPlanOfCells(t *testing.T) {
	plan := &result.Plan{Experiment: "other", Cells: []result.Cell{
		{Name: "a", Command: []string{"other", "1"}}, {Name: "b", Command: []string{}, Lacking: "there is one CPU"},
	}}
	var out bytes.Buffer
	require.NoError(t, all.Plan(&out, plan, "table"))
	assert.Equal(t, `Plan of gorun other (nothing was run)

  cell  name          command
     0  a (baseline)  gorun other 1
     1  b             - there is one CPU
`, out.String())
	out.Reset()
	require.NoError(t, all.Plan(&out, plan, "json"))
	assert.NotContains(t, out.String(), `"order"`)
	assert.Contains(t, out.String(), `"lacking": "there is one CPU"`)
}
