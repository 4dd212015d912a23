package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/judge/matrix"
	"gorun/internal/publish/document"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
	"gorun/internal/show/rendertest"
	"gorun/internal/show/term"
	"gorun/internal/stats"
)

// comparisonOf compares a run with the one before it.
func comparisonOf(t testing.TB, before, run Input) *result.Comparison {
	t.Helper()
	columns, _ := experiments.Known(run.Run.Experiment)
	c, err := matrix.Compare(matrix.Side{File: "before.jsonl", Run: before.Run}, matrix.Side{File: "run.jsonl", Run: run.Run}, columns, nil, false)
	require.NoError(t, err)
	return c
}

// recordedPair returns a recorded run, and the one before it.
func recordedPair(t testing.TB) (before, run Input) {
	r := runOf(t, "compare")
	text, _ := r.member("before.jsonl")
	return readText(t, text), readText(t, r.journal())
}

func compared(t testing.TB, c *result.Comparison, format string, opts term.Options) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, document.Show(&out, render.Comparison{Comparison: c}, format, opts))
	return out.String()
}

// What two runs do not share is listed, and what is in one of them alone. A comparison that was not meant is not to be taken for
// another, whichever line is quoted. Each figure has its verdict, by its name, and each further pair of runs its line.
func TestComparisonOfRunsThatDiffer(t *testing.T) {
	before, run := recordedPair(t)
	c := comparisonOf(t, before, run)
	same := rendertest.Effect(stats.Same, 0.1, -1, 1.1, 61)
	c.Cells[0].B, c.Cells[0].Relation, c.Cells[0].Words = "pin-cpus=0,8", "same-llc", "forced across binary: can't tell"
	c.Cells[0].Figures = []result.ComparedFigure{{JudgedFigure: result.JudgedFigure{Label: "CPU time"}, Verdict: *same, Words: same.String(), Relative: same}}
	c.OnlyA = []string{"workers=500", "workers=5000"}
	c.Differences = []result.Difference{{What: "kernel", A: "6.18.2", B: "6.19.0"}, {What: "binary", A: strings.Repeat("a", 40)}}
	c.Forced, c.Unmeant = true, []string{"binary"}
	c.B.Host.CPUModel = "Another CPU @ 3.00GHz"
	c.MoreA, c.MoreB = []result.Origin{{File: "before2.jsonl"}}, []result.Origin{{File: "after2.jsonl"}}
	page := unbroken(compared(t, c, "table", term.Options{}))
	for _, part := range []string{
		"forced across binary: ", "in B: pin-cpus=0,8 (same-llc in both)", "Cells of one run alone run cells A workers=500, workers=5000",
		"kernel 6.18.2 in A, 6.19.0 in B", "Forced, although not alike: binary", "binary aaa", "in A, nothing in B",
		" · Another CPU @ 3.00GHz", "CPU time: no difference larger than 2%",
		"CPU time, relative to the baseline: no difference", "A2 before2.jsonl", "B2 after2.jsonl",
	} {
		assert.Contains(t, page, part)
	}
	assertPrintable(t, compared(t, rendertest.Soiled(t, c), "table", term.Options{}))

	empty := compared(t, &result.Comparison{}, "json", term.Options{})
	for _, list := range []string{"differences", "cells", "only_a", "only_b", "warnings"} {
		assert.Contains(t, empty, `"`+list+`": []`)
	}
}

// benchstat puts runs side by side that share their configuration but for the line that it was told to compare by.
func TestBenchfmtPair(t *testing.T) {
	before, run := recordedPair(t)
	a, b := before.Run, run.Run
	b.Host.Kernel = "6.19.0"
	var out strings.Builder
	require.NoError(t, document.Show(&out, experiments.Pair(a, b, "before.jsonl", rendertest.Hostile), "benchfmt", term.Options{}))
	assertPrintable(t, out.String())
	for part, times := range map[string]int{
		"Unit peak-RSS-bytes": 1, "run: before.jsonl\n": 1, "run: ": 2, "cpu: ": 1, "kernel: ": 0, "\nBenchmark": a.Samples.Len() + b.Samples.Len(),
	} {
		assert.Equal(t, times, strings.Count(out.String(), part), part)
	}
	require.ErrorIs(t, document.Show(rendertest.Broken{}, experiments.Pair(a, b, "a", "b"), "benchfmt", term.Options{}), rendertest.ErrBroken)
}
