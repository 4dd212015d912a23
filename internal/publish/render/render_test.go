package render

import (
	"encoding/csv"
	"io"
	"math"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"
	"pgregory.net/rapid"

	"gorun/internal/experiment"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/show/rendertest"
	"gorun/internal/show/term"
)

// No list of a document is null, and what was shown is as it was.
func TestJSON(t *testing.T) {
	run := matrixRun()
	run.Warnings[0].Message = "a < b && c > d"
	run.Warmups, run.Cells[0].Flags, run.Cells[0].Command = []result.Sample{{}}, nil, nil
	run.Matrix.Order.First = [][]int{nil}
	out := rendertest.Show(t, JSON, run, term.Options{})
	for _, part := range []string{
		`"a < b && c > d"`, `"findings": []`, `"reasons": []`, `"flags": {}`, `"command": []`, "\"first\": [\n        []\n      ]",
	} {
		assert.Contains(t, out, part)
	}
	assert.Nil(t, run.Matrix.Order.First[0])
	run.Matrix.Order.First = nil
	assert.NotContains(t, rendertest.Show(t, JSON, run, term.Options{}), `"first"`, "samples in rows have no blocks")

	run.Samples[0].Seconds = math.NaN()
	require.ErrorContains(t, JSON(io.Discard, run, term.Options{}), "cannot write JSON")
}

// Figures have the digits that read back as the same number, and no two columns the same name.
func TestCSVReadsBackExactly(t *testing.T) {
	type figures struct {
		Figure float64 `json:"figure" is:"A number."`
		Note   string  `json:"note" figure:",csv=1" is:"A text."`
		MHz    string  `json:"mhz" is:"A column that exists twice."`
	}
	views := Views{{Text: experiment.Text{Name: "primes"}, Traits: experiment.Traits{Columns: column.Of[figures]()}}}
	rapid.Check(t, func(t *rapid.T) {
		run := plainRun()
		s := &run.Samples[0]
		s.Seconds, s.Quality.Signals = rapid.Float64().Draw(t, "seconds"), result.Signals{MHz: new(rapid.Float64().Draw(t, "MHz"))}
		figure, note := rapid.Float64().Draw(t, "figure"), rapid.StringMatching(`[ -~é]*`).Draw(t, "note")
		s.Values = rendertest.Figures(map[string]any{"figure": figure, "note": note, "mhz": "not the signal"})
		rows, err := csv.NewReader(strings.NewReader(rendertest.Show(t, views.CSV, run, term.Options{}))).ReadAll()
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

// Whatever its texts are, a sample's line is one that benchstat reads. Its name ends in GOMAXPROCS.
func TestBenchfmtReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := plainRun()
		run.Host.CPUModel = rapid.StringMatching(`[ -~\t\n]*`).Draw(t, "model")
		run.Spec = map[string]any{"method": rapid.String().Draw(t, "method"), "pin_cpus": "0-3"}
		run.Samples[0].Quality.Verdict = result.Invalid
		reader := benchfmt.NewReader(strings.NewReader(rendertest.Show(t, all.Benchfmt, run, term.Options{})), "run")
		var read []*benchfmt.Result
		for reader.Scan() {
			if record, is := reader.Result().(*benchfmt.Result); is {
				read = append(read, record.Clone())
			}
		}
		require.NoError(t, reader.Err())
		require.Len(t, read, 1)
		wall, _ := read[0].Value("sec/op")
		assert.InEpsilon(t, run.Samples[0].Seconds, wall, 1e-12)
		assert.Equal(t, strings.Join(strings.Fields(run.Host.CPUModel), " "), read[0].GetConfig("cpu"))
		assert.Contains(t, read[0].Name.String(), "/verdict=invalid")
		_, parts := read[0].Name.Parts()
		assert.Equal(t, "-2", string(parts[len(parts)-1]), "the end of 0-3 is not GOMAXPROCS")
	})
}

// Different texts stay different in a benchmark's name, and none of them ends it.
func TestBenchWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~\t\n]*`)).Draw(t, "text")
		word := benchWord(text)
		back, err := url.PathUnescape(word)
		require.NoError(t, err)
		assert.Equal(t, text, back)
		assert.False(t, strings.ContainsAny(word, "/ \t\n"), word)
	})
	assert.Equal(t, "a_b", benchWord("a_b"))
	assert.Equal(t, "a%20b", benchWord("a b"))
	assert.Equal(t, "a%2Fb", benchWord("a/b"))
}

func TestWriteErrorsAreReported(t *testing.T) {
	for _, format := range all.Formats() {
		require.ErrorIs(t, format.Write(rendertest.Broken{}, plainRun(), term.Options{}), rendertest.ErrBroken, format.Name)
	}
}

// A setting that was not applied, or that the kernel accepts and ignores, is not shown as done.
func TestPlacementText(t *testing.T) {
	done := result.Placement{Requested: "node 1", Verified: true, Checked: 3}
	for want, second := range map[string]result.Placement{
		"node 1: read back as asked":                                        done,
		"read back as asked in each sample":                                 {Requested: "node 2", Verified: true, Checked: 3},
		"node 1: not read back":                                             {Requested: "node 1"},
		"node 1: not what was asked in 1 of 2 samples: 1; 2; 3":             {Requested: "node 1", Mismatches: []string{"1", "2", "2", "3", "4"}},
		"node 1: as asked at first; then CPU 1 went offline":                {Requested: "node 1", Verified: true, Mismatches: []string{"CPU 1 went offline"}},
		"node 1: accepted, and without effect in 1 of 2 samples: it is off": {Requested: "node 1", Verified: true, NoEffect: "it is off"},
	} {
		assert.Equal(t, want, placementText([]result.Sample{{Placement: done}, {Placement: second}}, term.Options{}))
	}
	assert.Equal(t, "node 1: read back as asked", placementText([]result.Sample{{}, {Placement: done}}, term.Options{}), "one did not run")
	assert.Empty(t, placementText([]result.Sample{{}}, term.Options{}))
	assert.Equal(t, "none", placementText([]result.Sample{{Placement: result.Placement{Requested: "none"}}}, term.Options{}))
	assert.Empty(t, placementText(nil, term.Options{}))
}
