package render

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"

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

func TestComparisonFitsItsWidth(t *testing.T) {
	long := comparison()
	long.A.File, long.Cells[0].A = "/"+strings.Repeat("journal", 30), strings.Repeat("pin-cpus=0,", 30)
	for _, c := range []*result.Comparison{comparison(), long} {
		for width := 60; width < 200; width += 7 {
			plain := compared(t, c, "table", term.Options{Width: width})
			for line := range strings.Lines(plain) {
				if strings.HasPrefix(line, "      gorun compare ") {
					continue // a command to be copied is never broken
				}
				assert.LessOrEqual(t, text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n")), width)
			}
			coloured := compared(t, c, "table", term.Options{Width: width, Colour: true})
			assert.Equal(t, plain, text.StripEscape(coloured), "colour moves nothing")
		}
	}
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
	for _, format := range ComparisonFormats {
		assert.NotEmpty(t, compared(t, comparison(), format, term.Options{}))
	}
	require.ErrorIs(t, Comparison(&strings.Builder{}, comparison(), "csv", term.Options{}), ErrFormat)
	require.ErrorIs(t, Comparison(rendertest.Broken{}, comparison(), "table", term.Options{}), rendertest.ErrBroken)

	out := compared(t, &result.Comparison{}, "json", term.Options{})
	var lists map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &lists))
	for _, list := range []string{"differences", "only_a", "only_b", "warnings"} {
		assert.Equal(t, []any{}, lists[list], list)
	}
}

// benchstat puts runs side by side that share their configuration but for the line that it was told to compare by.
func TestBenchfmtPair(t *testing.T) {
	a, b := matrixRun(), matrixRun()
	b.Host.Kernel = "6.19.0"
	var out strings.Builder
	require.NoError(t, all.BenchfmtPair(&out, a, b, "before.jsonl", "after.jsonl"))
	reader := benchfmt.NewReader(strings.NewReader(out.String()), "pair")
	samples, common := map[string]int{}, map[string]string{}
	for reader.Scan() {
		record, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		samples[record.GetConfig("run")]++
		for _, line := range record.Config {
			if line.Key != "run" {
				common[line.Key] = string(line.Value)
			}
		}
	}
	require.NoError(t, reader.Err())
	assert.Equal(t, map[string]int{"before.jsonl": len(a.Samples), "after.jsonl": len(b.Samples)}, samples)
	assert.Equal(t, []string{"cpu", "goarch", "goos", "pkg"}, slices.Sorted(maps.Keys(common)), "no kernel: it differs")
	assert.Equal(t, 1, strings.Count(out.String(), "Unit ns/op"))
	require.ErrorIs(t, all.BenchfmtPair(rendertest.Broken{}, a, b, "a", "b"), rendertest.ErrBroken)
}
