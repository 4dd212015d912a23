package document

import (
	"encoding/csv"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/base/packed"
	"gorun/internal/experiment"
	"gorun/internal/machine/topology"
	"gorun/internal/publish/render"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/show/rendertest"
	"gorun/internal/show/term"
	"gorun/internal/stats"
	"gorun/internal/work/doctor"
)

// views have an experiment with columns of these figures.
var views = render.Views{{Text: experiment.Text{Name: "primes"}, Traits: experiment.Traits{Columns: column.Of[figures]()}}}

type figures struct {
	Figure float64 `json:"figure" is:"A number."`
	Note   string  `json:"note" figure:",csv=1" is:"A text."`
	MHz    string  `json:"mhz" is:"A column that exists twice."`
}

// runOf returns a run of one good sample.
func runOf() *result.Run {
	run := rendertest.Run("primes", 2, 1)
	run.Samples = packed.Of(rendertest.Sample(0, 2.8134567890123456))
	run.Warnings = []result.Warning{{Code: "bare", Message: "a < b && c > d"}}
	return run
}

func shown(t require.TestingT, d Document, format string) string {
	var out strings.Builder
	require.NoError(t, Show(&out, d, format, term.Options{}))
	return out.String()
}

// documents are one of each kind in which every text is hostile. Package fleet tests its own.
func documents(t *testing.T) []Document {
	details := topology.Details{CPUModel: rendertest.Hostile, Warnings: []string{rendertest.Hostile}, Devices: []topology.DeviceInterrupts{
		{Device: topology.Device{PCI: rendertest.Hostile, Kind: rendertest.Hostile, Names: []string{rendertest.Hostile}}},
	}}
	verdict := *rendertest.Effect(stats.Slower, 2, 1.1, 2.9, 61)
	return []Document{
		views.Run(rendertest.Soiled(t, runOf())),
		views.Plan(rendertest.Soiled(t, &result.Plan{Experiment: "primes", Cells: []result.Cell{{Name: "a", Chosen: "b"}}})),
		render.Comparison{Comparison: rendertest.Soiled(t, &result.Comparison{
			Experiment: "primes", Cells: []result.ComparedCell{{A: "a", B: "b", Verdict: verdict}}, Warnings: runOf().Warnings,
		})},
		render.TopologyOf(&topology.Machine{Warnings: []string{rendertest.Hostile}}, details, result.Tool{}),
		rendertest.Soiled(t, &doctor.Report{Warnings: []string{"a"}}),
	}
}

// Whatever a journal or a machine has for a text, only what can be printed reaches a terminal, in each format of each kind of
// document. An output that fails is an error.
func TestForeignTextsAreHarmless(t *testing.T) {
	for _, d := range documents(t) {
		for _, name := range formatsOf(d).Names() {
			page := shown(t, d, name)
			if name == "table" {
				assert.Contains(t, page, "title", "the text of %T is there", d)
			}
			unprintable := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
			assert.True(t, name == "html" || name == "json" || !strings.ContainsFunc(page, unprintable), "%T as %s: %q", d, name, page)
			require.ErrorIs(t, Show(rendertest.Broken{}, d, name, term.Options{}), rendertest.ErrBroken, "%T as %s", d, name)
		}
	}
	interim := &result.Interim{Running: "a", Rounds: 12, Cells: []result.InterimCell{
		{Name: "a", Seconds: 0.161, Verdict: *rendertest.Effect(stats.CantTell, 1, -1.2, 3.4, 12), Open: true},
		{Name: "b", Seconds: 0.181, Verdict: *rendertest.Effect(stats.Slower, 12, 11, 13, 12)},
	}}
	var page strings.Builder
	(&term.Scoreboard{W: &page, Opts: term.Options{Terminal: true}}).Draw(*rendertest.Soiled(t, interim))
	own := strings.NewReplacer("\x1b[K", "", "\r", "", "\n", "") // of the live table
	assert.False(t, strings.ContainsFunc(own.Replace(page.String()), func(r rune) bool { return !unicode.IsPrint(r) }))
}

// No list of a document is null, and what was shown is as it was.
func TestJSON(t *testing.T) {
	run := runOf()
	run.Warmups, run.Cells, run.Matrix = []result.Sample{{}}, []result.Cell{{}}, &result.Matrix{}
	run.Matrix.Order.First = [][]int{nil}
	out := shown(t, views.Run(run), "json")
	for _, part := range []string{
		`"a < b && c > d"`, `"findings": []`, `"reasons": []`, `"flags": {}`, `"command": []`, "\"first\": [\n        []\n      ]",
	} {
		assert.Contains(t, out, part)
	}
	assert.Equal(t, 2, strings.Count(out, `"reasons": []`), "of the warm-up, and of the sample")
	assert.Nil(t, run.Matrix.Order.First[0])
	run.Matrix.Order.First = nil
	assert.NotContains(t, shown(t, views.Run(run), "json"), `"first"`, "samples in rows have no blocks")

	run.Samples = packed.Of(rendertest.Sample(0, math.NaN()))
	require.ErrorContains(t, Show(&strings.Builder{}, views.Run(run), "json", term.Options{}), "cannot write JSON")
}

// Texts that differ are told apart by benchstat, also if a terminal shows both as the same.
func TestBenchfmtKeepsTextsApart(t *testing.T) {
	lines := func(note string) string {
		run := runOf()
		run.Spec = map[string]any{"method": note}
		return shown(t, views.Run(run), "benchfmt")
	}
	assert.NotEqual(t, lines("a b"), lines("a\nb"))
}

// Figures have the digits that read back as the same number, and no two columns the same name.
func TestCSVReadsBackExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := runOf()
		s := run.Samples.At(0)
		s.Seconds, s.Quality.Signals = rapid.Float64().Draw(t, "seconds"), result.Signals{MHz: new(rapid.Float64().Draw(t, "MHz"))}
		figure, note := rapid.Float64().Draw(t, "figure"), rapid.StringMatching(`[ -~é]*`).Draw(t, "note")
		s.Values = rendertest.Figures(map[string]any{"figure": figure, "note": note, "mhz": "not the signal"})
		run.Samples = packed.Of(*s)
		rows, err := csv.NewReader(strings.NewReader(shown(t, views.Run(run), "csv"))).ReadAll()
		require.NoError(t, err)
		require.Len(t, rows, 2)
		fields := map[string]string{}
		for i, name := range rows[0] {
			fields[name] = rows[1][i]
		}
		require.Len(t, fields, len(rows[0]))
		for name, want := range map[string]float64{"seconds": s.Seconds, "figure": figure, "mhz": *s.Quality.Signals.MHz} {
			x, err := strconv.ParseFloat(fields[name], 64)
			require.NoError(t, err)
			assert.Equal(t, want, x)
		}
		assert.Equal(t, escapeCSV(note), fields["note"])
		assert.Equal(t, "not the signal", fields["values.mhz"])
		assert.Empty(t, fields["migrations"], "what is missing is empty, not 0")
	})
}

// A spreadsheet computes no text of the user.
func TestEscapeCSV(t *testing.T) {
	for _, field := range []string{"", "a=1", "0.5", "-0.25", "+1e-05", "--workers 2", "--pin-cpus share:1/2 --lock-thread=false", "---- ****", "-"} {
		assert.Equal(t, field, escapeCSV(field))
	}
	for _, field := range []string{
		"=1+1", "-2+3", "+1+1", "@SUM(A1)", "\t=1+1", "\r=1", " =1", "＝1+1", "-a", "--n '=1+1'", "--n SUM(A1)", `--a|'/C calc'!A0`, "-x 1",
	} {
		assert.Equal(t, "'"+field, escapeCSV(field))
	}
}
