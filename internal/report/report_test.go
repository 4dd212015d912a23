package report

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/column"
	"gorun/internal/hint"
	"gorun/internal/journal"
	"gorun/internal/matrix"
	"gorun/internal/render/rendertest"
	"gorun/internal/result"
	"gorun/internal/stats"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// made returns a run with realistic samples.
func made(experiment string) *result.Run {
	return &result.Run{
		Schema: result.Schema, Experiment: experiment, Seed: 7, Started: "2026-01-02T03:04:05Z",
		Tool: result.Tool{Name: "gorun", Version: "v0.1.0", Go: "go1.26.8", SHA256: "abc"},
		Host: result.Host{
			Hostname: "lab", OS: "linux", Arch: "amd64", Kernel: "6.18.2", CPUs: 2, Online: 2, Allowed: "0-1", GOMAXPROCS: 2,
		},
		Command: []string{experiment, "--limit", "200 000", "--it's"},
		Spec:    map[string]any{"limit": 200000, "method": "brute", "off": false},
		Samples: []result.Sample{}, Findings: []result.Finding{}, Warnings: []result.Warning{},
	}
}

func sampleOf(index int, seconds float64) result.Sample {
	steal, moves := 0.001*float64(index%3), uint64(index%5)
	return result.Sample{
		Index: index, Seconds: seconds, UserSeconds: seconds, Placement: result.Placement{Verified: true},
		Quality: result.Quality{Verdict: result.Valid, Reasons: []string{}, Signals: result.Signals{
			WatchedSeconds: seconds, StealSeconds: &steal, Migrations: &moves,
		}},
	}
}

// matrixOf returns a matrix with these numbers of cells and rounds. The first cell is the baseline; the last is 10%
// slower.
func matrixOf(t testing.TB, cells, rounds int) *result.Run {
	run := made("primes")
	run.Command = []string{"matrix", "primes"}
	run.Matrix = &result.Matrix{Alpha: 0.05, Margin: 0.02, Precision: 0.02, Rounds: rounds}
	for i := range cells {
		run.Cells = append(run.Cells, result.Cell{
			Name: fmt.Sprintf("--workers %d", i+1), Flags: map[string]string{"workers": fmt.Sprint(i + 1)},
			Command: []string{"primes", "--workers", fmt.Sprint(i + 1)},
			CPUs:    map[string]result.CPUs{"cpus": {List: "0-1", Count: 2}},
		})
	}
	board, err := matrix.NewBoard(run, column.Common())
	require.NoError(t, err)
	run.Matrix.Order = board.Order()
	for board.Rounds() < rounds {
		slot := board.Next()
		n := len(run.Samples)
		seconds := 0.1 + 0.001*math.Sin(float64(n))
		if slot.Cell == cells-1 {
			seconds *= 1.1
		}
		s := sampleOf(n, seconds)
		slot.Elapsed = 0.25 * float64(n+1)
		s.Slot = &slot
		require.NoError(t, board.Add(s))
		run.Samples = append(run.Samples, s)
	}
	return run
}

func judged(t testing.TB, run *result.Run) *result.Run {
	board, err := matrix.NewBoard(run, column.Common())
	require.NoError(t, err)
	for _, s := range run.Samples {
		require.NoError(t, board.Add(s))
	}
	board.Judge()
	return run
}

// journalOf stores a run, with or without a footer.
func journalOf(t testing.TB, run *result.Run, footer bool) string {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	var text []byte
	add := func(line result.Line) {
		sealed, err := journal.Marshal(line)
		require.NoError(t, err)
		text = append(text, sealed...)
	}
	add(result.Line{Header: run.Header()})
	for i := range run.Samples {
		add(result.Line{Sample: &run.Samples[i]})
	}
	if footer {
		add(result.Line{Footer: &result.Footer{
			Samples: len(run.Samples), Cells: run.Cells, Findings: run.Findings, Warnings: run.Warnings,
		}})
	}
	require.NoError(t, os.WriteFile(path, text, 0o644))
	return path
}

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
	page := written(t, Input{File: "run.jsonl", Run: judged(t, matrixOf(t, 3, 3))})
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

const most = 2_000_000 // bytes of a report

// longMatrix has 10,000 samples, and invented verdicts.
func longMatrix(cells int) *result.Run {
	run := made("primes")
	run.Matrix = &result.Matrix{Alpha: 0.05, Margin: 0.02}
	seconds := make([][]result.Sample, cells)
	for i := range 10_000 {
		s := sampleOf(i, 0.1+0.001*math.Sin(float64(i)))
		s.Slot = &result.Slot{Cell: i % cells, Elapsed: 0.123456789 * float64(i)}
		run.Samples = append(run.Samples, s)
		seconds[s.Cell] = append(seconds[s.Cell], s)
	}
	for i := range cells {
		v := &stats.Verdict{
			Kind: stats.Slower, Typical: stats.Effect{Ratio: 1.123, Lo: 1.012, Hi: 1.234},
			Total: &stats.Effect{Ratio: 1.123, Lo: 1.012, Hi: 1.234}, Rounds: 200, Margin: 0.02, Step: 0.001,
		}
		run.Cells = append(run.Cells, result.Cell{
			Name: fmt.Sprintf("--workers %d --lock-thread --pin-cpus all", i), Summary: result.Summarise(seconds[i]), Verdict: v,
			Words: v.String(), Command: []string{"primes", "--workers", fmt.Sprint(i), "--lock-thread", "--pin-cpus", "all"},
		})
	}
	return run
}

func TestSize(t *testing.T) {
	t.Parallel()
	c2c := made("c2c")
	for a := range 256 {
		for b := range a {
			s := sampleOf(len(c2c.Samples), 0.02)
			relation := []string{"same-core", "same-llc", "same-node", "cross-node"}[(a^b)%4]
			s.Values = rendertest.Figures(map[string]any{
				"cpu_a": b, "cpu_b": a, "node_a": b / 128, "node_b": a / 128, "relation": relation, "method": "cas",
				"ns": 50 + float64(a*b%97) + 0.123456789, "round_trip_ns": 100 + float64(a*b%97),
			})
			c2c.Samples = append(c2c.Samples, s)
		}
	}
	for name, run := range map[string]*result.Run{
		"10,000 samples of 360 cells": longMatrix(360),
		"10,000 samples of 2 cells":   longMatrix(2),
		"256 CPUs":                    c2c,
	} {
		page := written(t, Input{File: "run.jsonl", Run: run})
		assert.Less(t, len(page), most, name)
	}
}

func TestReadJudgesWhatHasNoFooter(t *testing.T) {
	run := judged(t, matrixOf(t, 3, 30))
	ended, err := Read(journalOf(t, run, true), experiments)
	require.NoError(t, err)
	assert.True(t, ended.Ended)
	path := journalOf(t, run, false)
	open, err := Read(path, experiments)
	require.NoError(t, err)
	assert.False(t, open.Ended)
	assert.Equal(t, run.Cells, ended.Run.Cells)
	assert.Equal(t, run.Cells, open.Run.Cells, "the same samples give the same verdicts")
	require.NotNil(t, open.Run.Cells[2].Verdict)
	assert.EqualValues(t, "slower", open.Run.Cells[2].Verdict.Kind)

	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text[:len(text)-20], 0o644))
	torn, err := Read(path, experiments)
	require.NoError(t, err)
	assert.Len(t, torn.Run.Samples, len(run.Samples)-1)
	assert.Equal(t, "torn-line", torn.Run.Warnings[len(torn.Run.Warnings)-1].Code)
	assert.Contains(t, written(t, torn), "This run has not ended")
}

// Samples in the wrong order cannot be from this run: its footer is ignored.
func TestReadOutOfOrder(t *testing.T) {
	run := judged(t, matrixOf(t, 3, 3))
	run.Samples[0].Slot, run.Samples[5].Slot = run.Samples[5].Slot, run.Samples[0].Slot
	for _, footer := range []bool{true, false} {
		_, err := Read(journalOf(t, run, footer), experiments)
		require.ErrorContains(t, err, "line 2: sample 0 is not the one that the seed puts there")
		assert.NotEmpty(t, hint.Of(err))
	}
}

// An unknown experiment cannot be judged: its footer is shown or, without one, the cells are summarised.
func TestReadOfAnotherDatum(t *testing.T) {
	run := judged(t, matrixOf(t, 3, 3))
	run.Experiment, run.Matrix.Datum = "latency", "latency_ns"
	ended, err := Read(journalOf(t, run, true), experiments)
	require.NoError(t, err)
	assert.Equal(t, run.Cells, ended.Run.Cells, "the footer's")
	open, err := Read(journalOf(t, run, false), experiments)
	require.NoError(t, err)
	assert.Nil(t, open.Run.Cells[2].Verdict)
	assert.Equal(t, "no-verdicts", open.Run.Warnings[0].Code)
	written(t, open)
}

func TestReadOfAnotherFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"schema": "gorun/v9"}`), 0o644))
	_, err := Read(path, experiments)
	assert.ErrorContains(t, err, path)
	_, err = Read(path+"x", experiments)
	assert.ErrorIs(t, err, os.ErrNotExist)
}
