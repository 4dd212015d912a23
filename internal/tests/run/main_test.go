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
	var out strings.Builder
	r := newReport(&out)
	r.read(events)
	r.end()
	want, err := os.ReadFile("testdata/report.txt")
	require.NoError(t, err)
	assert.Equal(t, string(want), out.String())

	file := filepath.Join(t.TempDir(), "skips")
	for range 2 {
		require.NoError(t, appendSkips(file, r.skips))
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	once := "internal/x TestLive: make test-live runs it\ninternal/x TestTwo/b: needs 512 CPUs\n"
	assert.Equal(t, once+once, string(text))
}
