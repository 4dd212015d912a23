package report

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/files/input"
	"gorun/internal/files/jsonl"
	"gorun/internal/record/result"
	"gorun/internal/show/rendertest"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func written(t testing.TB, inputs ...Input) string {
	var page strings.Builder
	require.NoError(t, Write(&page, inputs, Options{Views: experiments}))
	return page.String()
}

// body returns a page without its style and script, whose changes would dominate those of a golden file.
func body(page string) string {
	parts := regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>|content="default-src[^"]*"`)
	return parts.ReplaceAllString(page, "")
}

// A page loads nothing, and its policy says so to the browser.
func TestWriteNeedsNothingElse(t *testing.T) {
	page := written(t, Input{File: "run.jsonl", Run: copyOf(t, "matrix")})
	for _, bad := range []string{" src=", "@import", "url(", "http://www.google", "<link rel=\"stylesheet"} {
		assert.NotContains(t, page, bad)
	}
	assert.Contains(t, page, "default-src &#39;none&#39;")
	assert.NotContains(t, page, "connect-src")
	assert.NotContains(t, page, "data-version")
	for _, address := range regexp.MustCompile(`https?://[^"'<> ]+`).FindAllString(page, -1) {
		assert.Equal(t, "http://www.w3.org/2000/svg", address, "a name, which nothing loads")
	}
}

// A page of very many samples, cells or CPUs can still be sent to others.
func TestSize(t *testing.T) {
	t.Parallel()
	samples, pairs := copyOf(t, "matrix"), copyOf(t, "c2c")
	cells, times := samples.Cells[1:], samples.Samples
	for n := range 360 {
		cell := cells[n%len(cells)]
		cell.Name = fmt.Sprintf("--workers %d --lock-thread --pin-cpus all", n)
		samples.Cells = append(samples.Cells, cell)
	}
	for n := range 10_000 {
		s := times.At(n % times.Len())
		slot := *s.Slot
		slot.Cell, s.Slot = n%len(samples.Cells), &slot
		samples.Samples.Append(s)
	}
	pair := pairs.Samples.At(0)
	for a := range 256 {
		for b := range a {
			s := pair
			rendertest.Change(s, map[string]any{"cpu_a": b, "cpu_b": a, "ns": 50 + float64(a*b%97) + 0.123456789})
			pairs.Samples.Append(s)
		}
	}
	for _, run := range []*result.Run{samples, pairs} {
		assert.Less(t, len(written(t, Input{File: "run.jsonl", Run: run})), 2_000_000, run.Experiment)
	}
}

// A journal without a footer, of an experiment that is unknown, cannot be judged.
func TestReadOfAnotherDatum(t *testing.T) {
	run := copyOf(t, "matrix")
	run.Experiment, run.Matrix.Compared = "latency", "latency_ns"
	text, err := jsonl.Marshal(result.Line{Header: run.Header()})
	require.NoError(t, err)
	for _, s := range run.Samples.All() {
		line, err := jsonl.Marshal(result.Line{Sample: s})
		require.NoError(t, err)
		text = append(text, line...)
	}
	open := readText(t, string(text))
	assert.Nil(t, open.Run.Cells[2].Verdict)
	assert.Equal(t, "no-verdicts", open.Run.Warnings[0].Code)
	written(t, open)
}

func TestReadOfAnotherFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"schema": "gorun/v9"}`), 0o644))
	_, err := ReadAll(t.Context(), input.Opener{}, []string{path}, experiments)
	assert.ErrorContains(t, err, path)
	_, err = ReadAll(t.Context(), input.Opener{}, []string{path + "x"}, experiments)
	assert.ErrorIs(t, err, os.ErrNotExist)
}
