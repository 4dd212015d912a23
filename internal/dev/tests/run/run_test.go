package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The report has a line for each package, all output of what failed, and each reason for which a test was skipped.
func TestReport(t *testing.T) {
	events, err := os.Open("testdata/events.jsonl")
	require.NoError(t, err)
	defer events.Close()
	var out, skips strings.Builder
	r := newReport(&out)
	r.read(events)
	r.end()
	want, err := os.ReadFile("testdata/report.txt")
	require.NoError(t, err)
	assert.Equal(t, string(want), out.String())
	require.NoError(t, writeSkips(&skips, r.skips))
	assert.Equal(t, "internal/x TestLive: make test-live runs it\ninternal/x TestTwo/b: needs 512 CPUs\n", skips.String())
}

// The outcomes of several starts stand in one file, and the table has those of all rounds.
func TestTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flaky.jsonl")
	for _, o := range []outcome{
		{Tests: ".", Condition: "quiet", Layer: "test", Passed: 10, Skipped: 1, Seconds: 100},
		{Tests: ".", Condition: "busy", Layer: "test", Passed: 9, Failed: []string{"csrc TestX"}, Seconds: 200},
		{Tests: ".", Condition: "quiet", Layer: "test", Round: 1, Passed: 10, Skipped: 1, Seconds: 120},
	} {
		require.NoError(t, appendOutcome(file, o))
	}
	all, err := outcomes(file)
	require.NoError(t, err)
	var out strings.Builder
	require.EqualError(t, table(&out, all), "1 tests failed")
	assert.Equal(t, `
condition  layer  rounds  passed  failed  skipped  seconds a round  tests
busy       test   1       9       1       0        200              .
quiet      test   2       20      0       2        110              .
failed 1 times: busy: csrc TestX
`, out.String())

	none, err := outcomes(filepath.Join(t.TempDir(), "none"))
	require.NoError(t, err)
	assert.Empty(t, none)
}
