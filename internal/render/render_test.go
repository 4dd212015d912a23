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

	"gorun/internal/column"
	"gorun/internal/experiment"
	"gorun/internal/render/rendertest"
	"gorun/internal/render/term"
	"gorun/internal/result"
)

func TestJSON(t *testing.T) {
	run := plainRun()
	run.Findings, run.Samples[0].Quality.Reasons, run.Samples[0].Values = nil, nil, result.Figures{}
	run.Warnings[0].Message = "a < b && c > d"
	out := rendertest.Show(t, JSON, run, term.Options{})
	assert.Contains(t, out, `"a < b && c > d"`)
	assert.Contains(t, out, `"findings": []`)
	assert.Contains(t, out, `"reasons": []`)
	assert.Contains(t, out, `"values": {}`)
	assert.Equal(t, out, rendertest.Show(t, JSON, run, term.Options{Terminal: true, Colour: true}), "the same everywhere")
	assert.Nil(t, run.Findings, "the run is not changed")
	assert.Nil(t, run.Samples[0].Quality.Reasons)

	matrix := matrixRun()
	matrix.Warmups, matrix.Cells[0].Flags, matrix.Cells[0].Command, matrix.Matrix.Order.First = []result.Sample{{}}, nil, nil, [][]int{nil}
	out = rendertest.Show(t, JSON, matrix, term.Options{})
	for _, list := range []string{`"flags": {}`, `"command": []`, "\"first\": [\n        []\n      ]", `"reasons": []`} {
		assert.Contains(t, out, list)
	}
	assert.Nil(t, matrix.Matrix.Order.First[0], "the run is not changed")
	assert.Nil(t, matrix.Cells[0].Flags)
	matrix.Matrix.Order.First = nil
	assert.NotContains(t, rendertest.Show(t, JSON, matrix, term.Options{}), `"first"`, "samples in rows have no blocks")

	run.Samples[0].Seconds = math.NaN()
	require.ErrorContains(t, JSON(io.Discard, run, term.Options{}), "cannot write JSON")
}

func TestCSVReadsBackExactly(t *testing.T) {
	type figures struct {
		Figure float64 `json:"figure" is:"A number."`
		Note   string  `json:"note" figure:",lead=1" is:"A text."`
		MHz    string  `json:"mhz" is:"A column that exists twice."`
	}
	views := Views{{Text: experiment.Text{Name: "primes"}, Columns: column.Of[figures]()}}
	rapid.Check(t, func(t *rapid.T) {
		run := plainRun()
		s := &run.Samples[0]
		s.Seconds = rapid.Float64().Draw(t, "seconds")
		figure := rapid.Float64().Draw(t, "figure")
		note := rapid.StringMatching(`[ -~é]*`).Draw(t, "note")
		mhz := rapid.Float64().Draw(t, "MHz")
		s.Values = rendertest.Figures(map[string]any{"figure": figure, "note": note, "mhz": "not the signal"})
		s.Quality.Signals = result.Signals{MHz: &mhz}

		rows, err := csv.NewReader(strings.NewReader(rendertest.Show(t, views.CSV, run, term.Options{}))).ReadAll()
		require.NoError(t, err)
		require.Len(t, rows, 2)
		cells := map[string]string{}
		for i, name := range rows[0] {
			_, twice := cells[name]
			require.False(t, twice, "two columns %s", name)
			cells[name] = rows[1][i]
		}
		number := func(name string) float64 {
			x, err := strconv.ParseFloat(cells[name], 64)
			require.NoError(t, err)
			return x
		}
		assert.Equal(t, s.Seconds, number("seconds"))
		assert.Equal(t, figure, number("figure"))
		assert.Equal(t, mhz, number("mhz"))
		assert.Equal(t, escapeCSV(note), cells["note"])
		assert.Equal(t, "not the signal", cells["values.mhz"])
		assert.Empty(t, cells["migrations"], "what is missing is empty, not 0")
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

func TestBenchfmtReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := plainRun()
		run.Samples = append(run.Samples, run.Samples[0])
		run.Samples[1].Quality.Verdict = result.Invalid
		run.Host.CPUModel = rapid.StringMatching(`[ -~\t\n]*`).Draw(t, "model")
		run.Spec = map[string]any{"method": rapid.String().Draw(t, "method"), "pin_cpus": "0-3"}
		for i := range run.Samples {
			run.Samples[i].Seconds = rapid.Float64Range(1e-9, 1e6).Draw(t, "seconds")
		}
		reader := benchfmt.NewReader(strings.NewReader(rendertest.Show(t, all.Benchfmt, run, term.Options{})), "run")
		index := 0
		for reader.Scan() {
			switch record := reader.Result().(type) {
			case *benchfmt.UnitMetadata:
			case *benchfmt.Result:
				s := &run.Samples[index]
				index++
				wall, ok := record.Value("sec/op")
				require.True(t, ok)
				assert.InEpsilon(t, s.Seconds, wall, 1e-12)
				_, counted := record.Value("migrations/op")
				assert.False(t, counted, "what is missing is left out")
				assert.Equal(t, strings.Join(strings.Fields(run.Host.CPUModel), " "), record.GetConfig("cpu"))
				_, parts := record.Name.Parts()
				assert.Equal(t, "-2", string(parts[len(parts)-1]), "the end of 0-3 is not GOMAXPROCS")
				invalid := strings.Contains(record.Name.String(), "/verdict=invalid")
				assert.Equal(t, s.Quality.Verdict == result.Invalid, invalid)
			default:
				require.Failf(t, "not a benchmark line", "%v", record)
			}
		}
		require.NoError(t, reader.Err())
		assert.Equal(t, len(run.Samples), index, "one line a sample")
		assert.Equal(t, 1, reader.Units().GetBetter("trials/s"))
		assert.Equal(t, -1, reader.Units().GetBetter("ns/op"))
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
	assert.Equal(t, "none", placementText([]result.Sample{{Placement: result.Placement{Requested: "none"}}}, term.Options{}))
	assert.Empty(t, placementText(nil, term.Options{}))
}
