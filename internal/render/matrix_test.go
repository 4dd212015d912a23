package render

import (
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/render/rendertest"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/stats"
)

// cellRun is a matrix of cells, of which each has one sample a round; the baseline has two.
func cellRun(baseline, rounds int, cells ...result.Cell) *result.Run {
	run := plainRun()
	run.Spec = map[string]any{"rounds": rounds}
	run.Findings, run.Warnings, run.Samples = nil, nil, nil
	run.Matrix = &result.Matrix{
		Baseline: baseline, Alpha: 0.05, Margin: 0.02, Precision: 0.02, Warmup: 1,
		Order:   result.Order{Method: "randomised complete blocks", BlockCells: 8, First: [][]int{{1, 0, len(cells)}}},
		Control: rendertest.Effect(stats.Same, 0.1, -0.8, 0.9, rounds),
	}
	for i := range cells {
		if cells[i].Verdict != nil && cells[i].Words == "" {
			cells[i].Words = cells[i].Verdict.String()
		}
		if cells[i].Name == "" {
			var words []string
			for _, flag := range slices.Sorted(maps.Keys(cells[i].Flags)) {
				words = append(words, flag+"="+cells[i].Flags[flag])
			}
			cells[i].Name = strings.Join(words, " ")
		}
		cells[i].Command = []string{"primes", "--" + strings.ReplaceAll(cells[i].Name, " ", " --")}
	}
	run.Cells = cells
	for round := range rounds {
		for cell := range cells {
			addSample(run, result.Slot{Cell: cell, Round: round})
		}
		addSample(run, result.Slot{Cell: baseline, Control: true, Round: round, Block: 1})
	}
	return run
}

func addSample(run *result.Run, slot result.Slot) {
	index := len(run.Samples)
	slot.Elapsed = 0.25 * float64(index+1)
	s := plainSample(index, 0.161+0.001*float64(slot.Cell))
	s.Slot, s.CPUs, s.Workers = &slot, nil, nil
	s.Values = rendertest.Figures(map[string]any{"primes": 17984})
	run.Samples = append(run.Samples, s)
}

func flagsOf(words ...string) map[string]string {
	flags := map[string]string{"limit": "200000"}
	for _, word := range words {
		flag, value, _ := strings.Cut(word, "=")
		flags[flag] = value
	}
	return flags
}

// matrixRun has a verdict of every kind.
func matrixRun() *result.Run {
	mixed := rendertest.Effect(stats.Mixed, 0.2, -0.4, 0.8, 50)
	mixed.Total = &stats.Effect{Ratio: 1.93, Lo: 1.6, Hi: 2.3}
	open := rendertest.Effect(stats.CantTell, 0.9, -1.4, 3, 50)
	open.MoreRounds, open.MoreSeconds = 90, 40
	run := cellRun(0, 3,
		result.Cell{Flags: flagsOf("workers=50"), Summary: rendertest.Timed(0.161)},
		result.Cell{Flags: flagsOf("workers=20000"), Summary: rendertest.Timed(0.1651), Verdict: rendertest.Effect(stats.Slower, 2, 1.1, 2.9, 61)},
		result.Cell{
			Flags: flagsOf("workers=50", "lock-thread=true"), Summary: rendertest.Timed(0.1612),
			Verdict: rendertest.Effect(stats.Same, 0.2, -0.9, 1.2, 50),
		},
		result.Cell{Flags: flagsOf("workers=20000", "lock-thread=true"), Summary: rendertest.Timed(0.1623), Verdict: open},
		result.Cell{
			Flags: flagsOf("workers=50", "method=trial"), Summary: rendertest.Timed(0.0413),
			Verdict: rendertest.Effect(stats.Faster, -74, -75, -73, 25),
		},
		result.Cell{Flags: flagsOf("workers=50", "nice=10"), Summary: rendertest.Timed(0.1614), Verdict: mixed},
	)
	run.Findings = []result.Finding{{Code: "x", Message: "Pinning goroutines round robin leaves CPUs idle."}}
	run.Warnings = []result.Warning{{Code: "bare", Message: "A warning."}}
	return run
}

// classicRun has the columns of the table that gorun grew from, and groups.
func classicRun() *result.Run {
	cell := func(group string, workers int, median float64, verdict *stats.Verdict, words ...string) result.Cell {
		flags := flagsOf(append(words, "workers="+strconv.Itoa(workers))...)
		cpus := map[string]result.CPUs{"cpus": {List: "0-15", Count: 16, Relation: "16 one-per-core"}}
		if list := flags["pin-cpus"]; list != "" {
			cpus["pin-cpus"] = result.CPUs{List: list, Count: 8}
		}
		at := 0
		if flags["serial"] != "" {
			at = 1
		}
		comments := map[string]string{
			"No GR": "the one worker", "GR ON": "workers move between threads and CPUs", "F4 - PRTY": "nice, to what it is by default",
		}
		return result.Cell{
			Group: group, Comment: comments[group], Flags: flags, CPUs: cpus, AtOnce: at,
			Summary: rendertest.Timed(median), Verdict: verdict,
		}
	}
	run := cellRun(2, 2,
		cell("No GR", 50, 29.44, rendertest.Effect(stats.Slower, 615, 600, 630, 25), "serial=true"),
		cell("No GR", 500, 29.42, rendertest.Effect(stats.Slower, 614, 600, 630, 25), "serial=true"),
		cell("GR ON", 50, 4.12, nil),
		cell("GR ON", 500, 3.97, rendertest.Effect(stats.Faster, -3.6, -4.4, -2.1, 25)),
		cell("GR ON", 50000, 2.97, rendertest.Effect(stats.Faster, -27.9, -29, -26, 25)),
		cell("F2-8 CPUs", 50, 5.27, rendertest.Effect(stats.Slower, 27.9, 25, 31, 25), "lock-thread=true", "pin-cpus=0-7"),
		cell("F4 - PRTY", 50, 4.02, rendertest.Effect(stats.Same, -1, -1.9, 0.2, 80), "nice=0"),
		cell("F4 - PRTY", 500, 3.9, rendertest.Effect(stats.Faster, -5.1, -6.5, -4.2, 80), "nice=0"),
	)
	run.Matrix.Figures = []result.Figure{{Column: "cpu_seconds", Label: "CPU time"}}
	run.Matrix.ControlVerdicts = map[string]stats.Verdict{"cpu_seconds": *rendertest.Effect(stats.Same, 0, -0.5, 0.5, 25)}
	run.Cells[5].Verdicts = map[string]stats.Verdict{"cpu_seconds": *rendertest.Effect(stats.Same, 0, -0.5, 0.5, 25)}
	run.Cells[6].Verdicts = map[string]stats.Verdict{"cpu_seconds": *rendertest.Effect(stats.Slower, 3, 1, 5, 25)}
	run.Matrix.Contrasts = []result.Contrast{
		{A: 3, B: 1, Verdict: rendertest.Effect(stats.Slower, 641, 620, 660, 25)},
		{
			A: 3, B: 7, Verdict: rendertest.Effect(stats.Same, -1.6, -1.9, 0.1, 80),
			Verdicts: map[string]stats.Verdict{"cpu_seconds": *rendertest.Effect(stats.Slower, 3, 1, 5, 25)},
		},
	}
	run.Matrix.Title = "The primes up to 200000 by the features of goroutines-multi-core"
	run.Matrix.Rounds = 25
	run.Matrix.Columns = []result.Column{
		{Title: "FOCUS", Flag: "group", Style: "value"},
		{Title: "F1 LK-GR", Flag: "lock-thread", Style: "truth"},
		{Title: "F2 LK-CPU", Flag: "pin-cpus", Style: "cpus"},
		{Title: "F3 LK-T", Flag: "pin-thread", Style: "truth"},
		{Title: "F4 PRTY", Flag: "nice", Style: "value", Unset: "default"},
		{Title: "Workers", Flag: "workers", Style: "value"},
		{Title: "Comments", Flag: "comment", Style: "value"},
	}
	return run
}

// The classic table shows what each group is, in a column as the original did or below where that does not fit, how many
// CPUs its work can use, and what a feature does apart from what the number of workers does.
func TestClassicTable(t *testing.T) {
	run := classicRun()
	against := "against GR ON: "
	for _, width := range []int{140, 110, 90} {
		page := rendertest.Show(t, all.Table, run, term.Options{Width: width, Verbose: true})
		all := words(page)
		assert.Contains(t, all, against+"slower: 7.20–7.60 × as long, 25 rounds")
		assert.Contains(t, all, against+"no difference larger than 2%")
		assert.Contains(t, all, "against GR ON, CPU time: slower: +1.0% to +5.0%, 25 rounds")
		assert.Contains(t, all, "20 comparisons, 7 cells, 2 contrasts and the control, each by wall time and by CPU time, share")
		assert.Regexp(t, `No GR +F +F \(1\) `, page)
		assert.Regexp(t, `GR ON +F +F \(16\) `, page)
		if width == 140 {
			assert.Regexp(t, `(?m)Workers  Comments +time  verdict$`, page)
			assert.Regexp(t, `(?m)^  GR ON .* 50  workers move +4\.12 s  baseline$`, page)
			assert.Regexp(t, `(?m)^ +F .* 500  between threads +3\.97 s  faster`, page)
			assert.Regexp(t, `(?m)^ +F .* 50000  and CPUs +2\.97 s  faster`, page)
			continue
		}
		assert.NotContains(t, page, "Comments")
		assert.Contains(t, page, "\n  GR ON: workers move between threads and CPUs\n")
	}
}

// partialMatrix was interrupted in its first round.
func partialMatrix() *result.Run {
	run := cellRun(0, 1,
		result.Cell{Flags: flagsOf("workers=50"), Summary: rendertest.Timed(0.161)},
		result.Cell{Flags: flagsOf("workers=500"), Summary: rendertest.Timed(0.164), Verdict: &stats.Verdict{
			Kind: stats.CantTell, Typical: stats.Effect{Ratio: 1, Hi: 1e308}, Rounds: 1, Margin: 0.02, Step: 0.001,
		}},
		result.Cell{Flags: flagsOf("workers=5000")},
	)
	run.Partial, run.Matrix.Control, run.Matrix.Rounds = true, nil, 25
	run.Samples = run.Samples[:2]
	run.Samples[1].Partial = true
	return run
}

// invalidMatrix has cells that could not be run as asked, and many reasons for doubt.
func invalidMatrix() *result.Run {
	run := cellRun(1, 8,
		result.Cell{
			Flags: flagsOf("workers=2", "pin-cpus=0-1"), Verdict: &stats.Verdict{Kind: stats.Invalid},
			Words: "invalid: the placement is not the requested one: worker 1: asked for CPU 1, is on 0-1",
		},
		result.Cell{Flags: flagsOf("workers=2"), Summary: rendertest.Timed(29.44)},
		result.Cell{
			Flags: flagsOf("workers=2", "sched=idle"), Summary: rendertest.Timed(0.00297), Verdict: &stats.Verdict{Kind: stats.Confounded},
			Words: "confounded: other programs used 12.0% of the available CPU time, and 0.3% during the baseline",
		},
	)
	for i := range run.Samples {
		s := &run.Samples[i]
		switch {
		case s.Cell == 0:
			s.Quality.Verdict = result.Invalid
			s.Quality.Reasons = []string{"the placement is not the requested one: worker 1: asked for CPU 1, is on 0-1"}
		case s.Cell == 2 && i%3 == 0:
			s.Quality.Verdict = result.Suspect
			s.Quality.Reasons = []string{
				fmt.Sprintf("other programs used 0.%d s (1%d%% of the CPU time there was)", i, i%10),
				strings.Repeat("x", s.Round+1) + " is a reason of its own",
			}
		}
	}
	return run
}

// hostileMatrix has texts that could harm a terminal, names that are too long, and places that are not there.
func hostileMatrix() *result.Run {
	long := strings.Repeat("界", 60)
	run := cellRun(7, 1,
		result.Cell{Name: rendertest.Hostile + long, Group: rendertest.Hostile, Flags: map[string]string{rendertest.Hostile: rendertest.Hostile + long, "off": "false"}},
		result.Cell{
			Name: "b" + rendertest.Hostile, Flags: map[string]string{"off": "true"}, Summary: rendertest.Timed(1e-9), Words: rendertest.Hostile + long,
			Verdict: &stats.Verdict{Kind: rendertest.Hostile},
		},
	)
	run.Matrix.Title, run.Experiment, run.Host.CPUModel, run.Tool.Go = rendertest.Hostile+long, "x"+rendertest.Hostile, rendertest.Hostile, rendertest.Hostile
	run.Matrix.Columns = []result.Column{
		{Title: rendertest.Hostile, Flag: rendertest.Hostile, Style: rendertest.Hostile}, {Title: "off", Flag: "off", Style: "cpus", Unset: rendertest.Hostile},
	}
	run.Samples[0].Cell, run.Samples[1].Cell = 99, -1
	run.Samples[1].Quality = result.Quality{Verdict: result.Suspect, Reasons: []string{rendertest.Hostile}}
	run.Samples[2].Slot = nil
	run.Warnings = []result.Warning{{Code: "x", Message: rendertest.Hostile, Hint: rendertest.Hostile}}
	run.Findings = []result.Finding{{Message: rendertest.Hostile}}
	return run
}

// emptyMatrix was interrupted before its first sample, with lists that are not there.
func emptyMatrix() *result.Run {
	run := emptyRun()
	run.Matrix = &result.Matrix{Order: result.Order{First: [][]int{nil}}}
	run.Cells = []result.Cell{{Name: "one"}, {Name: "two"}}
	return run
}

// Every width shows all words, in lines that fit, with the numbers in their places.
func TestMatrixFitsEveryWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(44, 300).Draw(t, "width")
		verbose := rapid.Bool().Draw(t, "verbose")
		for name, run := range fixtures() {
			if run.Matrix == nil {
				continue
			}
			page := rendertest.Show(t, all.Table, run, term.Options{Width: width, Verbose: verbose})
			for line := range strings.Lines(page) {
				line = strings.TrimSuffix(line, "\n")
				require.LessOrEqual(t, text.StringWidthWithoutEscSequences(line), width, "%s: %q", name, line)
			}
			if name == "matrix-hostile" {
				continue
			}
			for i, cell := range run.Cells {
				if cell.Verdict != nil && !run.IsBaseline(i) {
					require.Contains(t, words(page), words(view.VerdictWords(*cell.Verdict, term.Options{Verbose: verbose})), name)
				}
			}
		}
	})
}

// words are a text without its line breaks.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// Names stand for flags that are too many for the line.
func TestMatrixShowsNamesWhereFlagsDoNotFit(t *testing.T) {
	run := matrixRun()
	for i := range run.Cells {
		run.Cells[i].Flags["pin-cpus"] = strings.Repeat(strconv.Itoa(i)+",", 40)
		run.Cells[i].Name = fmt.Sprintf("cell number %d", i)
	}
	page := rendertest.Show(t, all.Table, run, term.Options{})
	assert.Contains(t, page, "\n  cell number 3  162.3 ms")
	assert.NotContains(t, page, "3,3,3")
}

// The control is the baseline by another name: averaged with it, or missing, it would say nothing.
func TestMatrixSamplesKeepTheirPlaces(t *testing.T) {
	run := cellRun(1, 2,
		result.Cell{Flags: flagsOf("workers=2", "pin-cpus=0/1 x")},
		result.Cell{Name: "the baseline", Flags: flagsOf("workers=2")},
	)
	rows, err := csv.NewReader(strings.NewReader(rendertest.Show(t, all.CSV, run, term.Options{}))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+2*3)
	assert.Equal(t, append(slices.Clone(csvSlot), "index"), rows[0][:7])
	assert.Equal(t, []string{"1", "the baseline", "true", "1", "1", "1.5", "5"}, rows[6][:7])

	lines := strings.Split(rendertest.Show(t, all.Benchfmt, run, term.Options{}), "\n")
	var names []string
	for _, line := range lines {
		if name, _, ok := strings.Cut(line, " "); ok && strings.HasPrefix(name, "Benchmark") {
			names = append(names, name)
		}
	}
	assert.Equal(t, []string{
		"BenchmarkPrimes/limit=200000/workers=2/pin-cpus=0_1_x-2",
		"BenchmarkPrimes/limit=200000/workers=2-2",
		"BenchmarkPrimes/limit=200000/workers=2/control=true-2",
	}, names[:3])
}

func TestMatrixJSONHasLists(t *testing.T) {
	run := emptyMatrix()
	out := rendertest.Show(t, JSON, run, term.Options{})
	for _, list := range []string{`"flags": {}`, `"command": []`, "\"first\": [\n        []\n      ]", `"samples": []`} {
		assert.Contains(t, out, list)
	}
	assert.Nil(t, run.Matrix.Order.First[0], "the run is not changed")
	run.Matrix.Order.First = nil
	assert.NotContains(t, rendertest.Show(t, JSON, run, term.Options{}), `"first"`, "samples in rows have no blocks")
	assert.Nil(t, run.Cells[0].Flags)
}

// A placement that makes threads wait takes longer and no more CPU time: both are shown, and which is which.
func TestMatrixShowsEachFigure(t *testing.T) {
	var table strings.Builder
	require.NoError(t, all.Table(&table, classicRun(), term.Options{Width: 160, Verbose: true}))
	page := words(table.String())
	assert.Contains(t, page, "slower: +25% to +31%, 25 rounds CPU time: no difference larger than 2%")
	assert.Contains(t, page, "no difference larger than 2% CPU time: slower: +1.0% to +5.0%, 25 rounds")
	assert.Contains(t, page, "duplicate: no difference larger than 2%; CPU time: no difference larger than 2%")
	assert.Contains(t, page, "20 comparisons, 7 cells, 2 contrasts and the control, each by wall time and by CPU time, share the 5% chance")
	assert.Equal(t, 5, strings.Count(page, "CPU time: "), "the other cells have no verdict on it")
}
