package render

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render/rendertest"
	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/stats"
)

// comparison is one of two runs on one machine, before and after a new kernel.
func comparison() *result.Comparison {
	before := result.Origin{
		File: "before.jsonl", Started: "2026-01-02T03:04:05Z", Host: plainRun().Host, Tool: plainRun().Tool,
		Samples: 325,
	}
	after := before
	after.File, after.Started, after.Host.Kernel = "after.jsonl", "2026-01-03T03:04:05Z", "6.19.0"
	slower, same := rendertest.Effect(stats.Slower, 2, 1.1, 2.9, 61), rendertest.Effect(stats.Same, 0.1, -1, 1.1, 61)
	return &result.Comparison{
		Schema: result.Schema, Tool: before.Tool, Experiment: "primes", A: before, B: after,
		Differences: []result.Difference{{What: "kernel", A: "6.18.2", B: "6.19.0"}},
		Cells: []result.ComparedCell{
			{
				A: "workers=50", B: "workers=50", SecondsA: rendertest.Timed(0.161).Seconds, SecondsB: rendertest.Timed(0.1642).Seconds,
				Verdict: *slower, Words: slower.String(), VerdictA: "baseline", VerdictB: "baseline",
			},
			{
				A: "pin-cpus=0,1", B: "pin-cpus=0,8", Relation: "same-llc", SecondsA: rendertest.Timed(1.2).Seconds,
				SecondsB: rendertest.Timed(1.2).Seconds, Verdict: *same, Words: same.String(), Relative: slower,
				VerdictA: "slower", VerdictB: "same",
			},
		},
		OnlyA: []string{"workers=500", "workers=5000"},
	}
}

func compared(t *testing.T, c *result.Comparison, format string, opts term.Options) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, Comparison(&out, c, format, opts))
	return out.String()
}

// What two runs do not share is listed, and what is in one of them alone. A comparison that was not meant is not to be taken for
// another, whichever line is quoted. Each figure has its verdict, by its name, and each further pair of runs its line.
func TestComparisonOfRunsThatDiffer(t *testing.T) {
	c := comparison()
	for i := range c.Cells { // as matrix.Compare has it
		c.Cells[i].Words = "forced across binary: " + c.Cells[i].Words
	}
	same := c.Cells[1].Verdict
	c.Cells[0].Figures = []result.ComparedFigure{{
		Figure: result.Figure{Column: "cpu_seconds", Label: "CPU time"}, Verdict: same, Words: same.String(),
		Relative: c.Cells[1].Relative,
	}}
	c.Differences = append(c.Differences, result.Difference{What: "binary", A: strings.Repeat("a", 40)})
	c.Forced, c.Unmeant = true, []string{"binary"}
	c.B.Host.CPUModel = "Another CPU @ 3.00GHz"
	c.MoreA, c.MoreB = []result.Origin{{File: "before2.jsonl"}}, []result.Origin{{File: "after2.jsonl"}}
	page := words(compared(t, c, "table", term.Options{}))
	assert.Equal(t, len(c.Cells), strings.Count(page, "forced across binary: "))
	for _, part := range []string{
		"in B: pin-cpus=0,8 (same-llc in both)", "Cells of one run alone run cells A workers=500, workers=5000",
		"kernel 6.18.2 in A, 6.19.0 in B", "Forced, although not alike: binary", "binary aaa", "in A, nothing in B",
		"325 lab · Another CPU @ 3.00GHz", "CPU time: no difference larger than 2%",
		"CPU time, relative to the baseline: slower: +1.1% to +2.9%", "A2 before2.jsonl", "B2 after2.jsonl",
	} {
		assert.Contains(t, page, part)
	}
}

func TestComparisonFormats(t *testing.T) {
	out := compared(t, &result.Comparison{}, "json", term.Options{})
	for _, list := range []string{"differences", "cells", "only_a", "only_b", "warnings"} {
		assert.Contains(t, out, `"`+list+`": []`)
	}
	require.ErrorIs(t, Comparison(&strings.Builder{}, comparison(), "csv", term.Options{}), ErrFormat)
	require.ErrorIs(t, Comparison(rendertest.Broken{}, comparison(), "table", term.Options{}), rendertest.ErrBroken)
}

// benchstat puts runs side by side that share their configuration but for the line that it was told to compare by.
func TestBenchfmtPair(t *testing.T) {
	a, b := matrixRun(), matrixRun()
	b.Host.Kernel = "6.19.0"
	var out strings.Builder
	require.NoError(t, all.BenchfmtPair(&out, a, b, "before.jsonl", "after.jsonl"))
	for part, times := range map[string]int{
		"Unit ns/op": 1, "run: before.jsonl\n": 1, "run: after.jsonl\n": 1, "cpu: ": 1, "kernel: ": 0,
		"\nBenchmarkPrimes/": len(a.Samples) + len(b.Samples),
	} {
		assert.Equal(t, times, strings.Count(out.String(), part), part)
	}
	require.ErrorIs(t, all.BenchfmtPair(rendertest.Broken{}, a, b, "a", "b"), rendertest.ErrBroken)
}
