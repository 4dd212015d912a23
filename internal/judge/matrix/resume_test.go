package matrix_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/base/packed"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
)

func TestResumable(t *testing.T) {
	is := func(what, a, b string) []result.Difference { return []result.Difference{{What: what, A: a, B: b}} }
	for name, c := range map[string]struct {
		change func(recorded, now *result.Run)
		want   []result.Difference
	}{
		"nothing":         {func(_, _ *result.Run) {}, nil},
		"budget":          {func(_, now *result.Run) { now.Matrix.Budget = 600 }, nil},
		"title":           {func(_, now *result.Run) { now.Matrix.Title = "again" }, nil},
		"a found warm-up": {func(r, now *result.Run) { r.Matrix.Warmup, now.Matrix.Warmup = 3, -1 }, nil},
		"warm-up":         {func(_, now *result.Run) { now.Matrix.Warmup = 0 }, is("warmup", "1", "0")},
		"a part as a warm-up": {
			func(r, now *result.Run) { r.Matrix.WarmupSeconds, now.Matrix.Warmup = 0.05, 1 },
			is("warmup", "1, cut after 0.05 s", "1"),
		},
		"experiment":    {func(_, now *result.Run) { now.Experiment = "memory" }, is("experiment", "primes", "memory")},
		"no matrix":     {func(r, _ *result.Run) { r.Matrix = nil }, is("", "no cells", "3 cells")},
		"seed":          {func(_, now *result.Run) { now.Seed = 9 }, is("seed", "7", "9")},
		"samples":       {func(_, now *result.Run) { now.Matrix.Rounds = 5 }, nil},
		"precision":     {func(_, now *result.Run) { now.Matrix.Precision = 0.015 }, is("precision", "0.02", "0.015")},
		"margin":        {func(_, now *result.Run) { now.Matrix.Margin = 0.1 }, is("margin", "0.02", "0.1")},
		"alpha":         {func(_, now *result.Run) { now.Matrix.Alpha = 0.01 }, is("alpha", "0.05", "0.01")},
		"a cell less":   {func(_, now *result.Run) { now.Cells = now.Cells[:2] }, is("", "3 cells", "2")},
		"a single cell": {func(r, _ *result.Run) { r.Cells = r.Cells[2:] }, is("", "1 cell", "3")},
		"cells": {func(_, now *result.Run) {
			now.Cells[1].Command, now.Cells[2].Command = now.Cells[2].Command, now.Cells[1].Command
		}, is("cell 1:", "primes --workers=1", "primes --workers=2")},
		"baseline": {func(_, now *result.Run) { now.Matrix.Baseline = 2 }, is("baseline", "--workers 0", "--workers 2")},
		"figures": {func(_, now *result.Run) {
			now.Matrix.Figures = []result.JudgedFigure{{Column: "cpu_seconds", Label: "CPU time"}}
		}, is("figures", "wall time", "wall time, cpu_seconds")},
		"contrasts": {func(_, now *result.Run) {
			now.Matrix.Contrasts = []result.Contrast{{A: 1, B: 2}}
		}, is("contrasts", "none", "2 with 1")},
		"another order": {func(r, _ *result.Run) { r.Matrix.Order.Design = result.Pairs }, is("order", "pairs", "blocks")},
		"kernel":        {func(r, now *result.Run) { r.Host.Kernel, now.Host.Kernel = "6.1", "6.12" }, is("kernel", "6.1", "6.12")},
		"flags": {func(r, now *result.Run) {
			r.Matrix.Rules = 2
			r.Asked, now.Asked = map[string]string{"load": "a b", "url": "x", "pages": "true"}, map[string]string{"block": "1s", "url": "y", "pages": "true"}
		}, []result.Difference{{A: "no --block", B: "--block 1s"}, {A: "--load 'a b'", B: "no --load"}, {A: "--url x", B: "--url y"}}},
		"flags of a journal that has none yet": {func(r, now *result.Run) { r.Matrix.Rules, now.Asked = 1, map[string]string{"block": "1s"} }, nil},
		"several": {func(_, now *result.Run) {
			now.Seed, now.Host.SMT, now.Matrix.Alpha = 1, "off", 0.1
		}, []result.Difference{
			{What: "smt", A: "not known", B: "off"}, {What: "seed", A: "7", B: "1"}, {What: "alpha", A: "0.05", B: "0.1"},
		}},
	} {
		recorded, now := workers(3), workers(3)
		c.change(recorded, now)
		got := matrix.Resumable(recorded, now)
		if c.want == nil {
			assert.Empty(t, got, name)
		} else {
			assert.Equal(t, c.want, got, name)
		}
	}
}

// A run does not continue with another program. Another file, and what was not known before, is no reason.
func TestChanged(t *testing.T) {
	file := func(name, sum, day string, program bool) result.File {
		return result.File{Name: name, Path: "/w/" + name, SHA256: sum, Modified: "2025-01-" + day + "T01:02:03.5Z", Program: program}
	}
	moved := file("p", "b", "02", true)
	moved.Path = "/w/p-2"
	noted := workers(1)
	noted.Files = []result.File{file("p", "a", "01", true), file("d", "a", "01", false)}
	noted.Samples = packed.Of(result.Sample{Index: 0}, result.Sample{Index: 1, Files: []result.File{file("p", "b", "02", true)}})
	const words = "p has changed: modified 2025-01-02 01:02:03 UTC, and before 2025-01-01 01:02:03 UTC"
	for name, c := range map[string]struct {
		before, now result.File
		want        string
		refused     bool
	}{
		"equal, with a new date": {file("p", "a", "01", true), file("p", "a", "02", true), "", false},
		"another program":        {file("p", "a", "01", true), file("p", "b", "02", true), words, true},
		"another data file":      {file("p", "a", "01", false), file("p", "b", "02", false), words, false},
		"unknown before":         {file("p", "", "01", true), file("p", "b", "02", true), "", false},
		"unknown now":            {file("p", "a", "01", true), file("p", "", "02", true), "", false},
		"another name":           {file("q", "a", "01", true), file("p", "b", "02", true), "", false},
		"another use":            {file("p", "a", "01", false), file("p", "b", "02", true), "", false},
		"another target of a link": {
			file("p", "a", "01", true), moved,
			"p has changed: modified 2025-01-02 01:02:03 UTC (/w/p-2), and before 2025-01-01 01:02:03 UTC (/w/p)", true,
		},
	} {
		recorded := workers(1)
		recorded.Files = []result.File{c.before}
		changed, got, refused := matrix.Changed(recorded, []result.File{c.now})
		assert.Equal(t, c.refused, refused, name)
		if c.want == "" {
			assert.Empty(t, changed, name)
			continue
		}
		assert.Equal(t, []result.File{c.now}, changed, name)
		assert.Equal(t, []string{c.want}, got, name)
	}

	changed, _, refused := matrix.Changed(noted, []result.File{file("p", "b", "02", true), file("d", "a", "01", false)})
	assert.Empty(t, changed, "it was noted in a sample")
	assert.False(t, refused)
	_, _, refused = matrix.Changed(noted, []result.File{file("p", "a", "01", true)})
	assert.True(t, refused, "the first program again")
	_, warnings := noted.FilesAtEnd()
	assert.Len(t, warnings, 1)
	assert.Equal(t, "before sample 1, "+words, warnings[0].Message)
}

func TestCommon(t *testing.T) {
	cells := []result.Cell{
		{Flags: map[string]string{"limit": "100", "workers": "1", "nice": "", "dispatch": "executor"}},
		{Flags: map[string]string{"limit": "100", "workers": "2", "nice": ""}},
		{Flags: map[string]string{"limit": "100", "workers": "1", "dispatch": "executor", "serial": "true"}},
	}
	assert.Equal(t, map[string]string{"limit": "100"}, matrix.Common(cells))
	assert.Equal(t, map[string]string{"limit": "100", "workers": "1", "dispatch": "executor"},
		matrix.Common([]result.Cell{cells[0], cells[2]}))
	assert.Len(t, cells[0].Flags, 4, "the cells keep theirs")
}

// A run of an older gorun goes on by the rule that it began with, and one of this gorun by the rule that is asked for.
func TestResumed(t *testing.T) {
	asked := result.End{Samples: 9, Enough: result.EnoughAnswer, FailOn: "slower"}
	assert.Equal(t, result.End{Samples: 9}, matrix.Resumed(&result.Matrix{}, asked))
	assert.Equal(t, asked, matrix.Resumed(&result.Matrix{Enough: result.EnoughPrecision}, asked))
}
