package render

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"
	"pgregory.net/rapid"

	"gorun/internal/result"
)

type writer = func(w io.Writer, run *result.Run, opts Options) error

func write(t require.TestingT, format writer, run *result.Run, opts Options) string {
	var out strings.Builder
	require.NoError(t, format(&out, run, opts))
	return out.String()
}

// A run that comes back from a journal has maps for structs and float64 for int: nothing of that may show.
func TestJournalLooksTheSame(t *testing.T) {
	for name, run := range fixtures() {
		line, err := json.Marshal(run)
		require.NoError(t, err)
		var back result.Run
		require.NoError(t, json.Unmarshal(line, &back))
		for _, format := range Formats {
			t.Run(name+"/"+format.Name, func(t *testing.T) {
				if format.Name == "json" {
					assert.JSONEq(t, write(t, JSON, run, Options{}), write(t, JSON, &back, Options{}))
					return
				}
				assert.Equal(t, write(t, format.Write, run, Options{}), write(t, format.Write, &back, Options{}))
			})
		}
	}
}

func TestLookup(t *testing.T) {
	assert.Equal(t, []string{"table", "json", "csv", "benchfmt"}, Names())
	for _, name := range Names() {
		format, err := Lookup(name)
		require.NoError(t, err)
		assert.Equal(t, name, format.Name)
		assert.NotEmpty(t, format.Usage)
	}
	_, err := Lookup("xml")
	require.ErrorIs(t, err, ErrFormat)
	assert.EqualError(t, err, `unknown format "xml": there are table, json, csv, benchfmt`)
}

func TestTableOffTerminalIsPlain(t *testing.T) {
	for name, run := range fixtures() {
		plain := write(t, Table, run, Options{})
		assert.NotContains(t, plain, "\x1b", name)
		assert.NotContains(t, plain, "█", name)
		// NO_COLOR takes the colour and leaves the bars.
		barred := write(t, Table, run, Options{Terminal: true})
		assert.NotContains(t, barred, "\x1b", name)
		assert.Equal(t, len(run.Samples) > 0 && len(run.Samples[0].CPUs) > 0, strings.Contains(barred, "█"), name)
		coloured := write(t, Table, run, Options{Terminal: true, Colour: true})
		assert.Contains(t, coloured, "\x1b[", name)
		assert.Equal(t, barred, text.StripEscape(coloured), "colour moves nothing: %s", name)
	}
}

func TestTableFitsItsWidth(t *testing.T) {
	for name, run := range fixtures() {
		for _, opts := range []Options{{}, {Terminal: true}, {Terminal: true, Width: 132}} {
			for line := range strings.Lines(write(t, Table, run, opts)) {
				line = strings.TrimSuffix(line, "\n")
				assert.LessOrEqual(t, text.StringWidthWithoutEscSequences(line), opts.columns(), "%s: %q", name, line)
				assert.Equal(t, strings.TrimRight(line, " "), line, "no trailing blanks: %s", name)
			}
		}
	}
}

// Many CPUs must not push the rest off the screen, and what is left out is counted.
func TestTableCapsCPUs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := plainRun()
		n := rapid.IntRange(1, 600).Draw(t, "CPUs")
		s := &run.Samples[0]
		s.CPUs = nil
		busy := 0
		for cpu := range n {
			workers := rapid.IntRange(0, 2).Draw(t, "workers")
			if workers > 0 {
				busy++
			}
			s.CPUs = append(s.CPUs, result.CPU{CPU: cpu, Workers: workers})
		}
		lines := strings.Split(cpusBlock(s, "", Options{}), "\n")
		assert.LessOrEqual(t, len(lines), maxCPURows+5)
		page := strings.Join(lines, "\n")
		if busy > maxCPURows {
			assert.Contains(t, page, "… and "+strconv.Itoa(busy-2*edgeRows)+" more in between")
		} else {
			assert.NotContains(t, page, "more in between")
		}
		if idle := n - busy; idle > 0 {
			assert.Contains(t, page, "("+strconv.Itoa(idle)+" CPUs)")
		}
	})
}

func TestBar(t *testing.T) {
	opts := Options{Terminal: true, Width: barFrom + 16}
	for _, c := range []struct {
		share float64
		want  string
	}{
		{0, ""},
		{-1, ""},
		{1.0 / 128, "▏"},
		{0.5, strings.Repeat("█", 8)},
		{0.5 + 3.0/128, strings.Repeat("█", 8) + "▍"},
		{1, strings.Repeat("█", 16)},
		{1.7, strings.Repeat("█", 16)},
	} {
		assert.Equal(t, c.want, bar(c.share, opts), "%v", c.share)
	}
	assert.Empty(t, bar(1, Options{Terminal: true, Width: barFrom + minBar - 1}))
	assert.Equal(t, maxBar, text.StringWidth(bar(1, Options{Terminal: true, Width: 500})))
}

func TestMediansAreOfGoodSamples(t *testing.T) {
	run := samplesRun()
	good := summarised(run.Samples)
	require.Len(t, good, 4, "the invalid sample is out")
	wall, ok := spreadOf(good, wallSeconds)
	require.True(t, ok)
	assert.Equal(t, spread{2.75, 2.8, 2.93}, wall)
	assert.Equal(t, 2.79, typical(good).Seconds)

	partial := partialRun().Samples
	assert.Equal(t, partial, summarised(partial), "without a good sample, what there is")
	assert.Nil(t, typical(nil))
	_, ok = spreadOf(good, value("no_such_figure"))
	assert.False(t, ok)
}

func TestScales(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{seconds(0), "0 s"},
		{seconds(12.34e-9), "12.3 ns"},
		{seconds(999.6e-9), "1.00 µs"},
		{seconds(0.9996e-3), "1.00 ms"},
		{seconds(0.0123), "12.3 ms"},
		{seconds(0.99949), "999 ms"},
		{seconds(0.9996), "1.00 s"},
		{seconds(9.996), "10.0 s"},
		{seconds(99.96), "100 s"},
		{seconds(86400), "86400 s"},
		{seconds(-0.002), "-2.00 ms"},
		{large(0), "0"},
		{large(9999), "9999"},
		{large(12345), "12.3 k"},
		{large(999600), "1.00 M"},
		{large(2.00001e10), "20.0 G"},
		{large(3e15), "3000 T"},
		{count(12.5), "12.5"},
		{count(1e18), "1000000000000000000"},
		{percent(0.98765), "98.8 %"},
		{ratio(1.005), "1.00"},
	} {
		assert.Equal(t, c.want, c.got)
	}
	for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		assert.NotPanics(t, func() { _, _, _ = seconds(odd), large(odd), count(odd) })
	}
}

func TestFlowKeepsPartsAndWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringMatching(`[a-zé]{1,12}`), 1, 30).Draw(t, "parts")
		width := rapid.IntRange(14, 60).Draw(t, "width")
		block := flow(parts, " · ", "  ", width)
		assert.Equal(t, parts, strings.FieldsFunc(block, func(r rune) bool { return strings.ContainsRune(" ·\n", r) }))
		for line := range strings.Lines(block) {
			assert.LessOrEqual(t, text.StringWidth(strings.TrimSuffix(line, "\n")), width)
		}
	})
}

func TestSpec(t *testing.T) {
	options, err := specRun(&result.Run{Spec: primesSpec{Limit: math.MaxUint64, Kernel: "auto", Nice: ptr(-3)}})
	require.NoError(t, err)
	assert.Equal(t, "18446744073709551615", options.text("limit"), "not rounded to a float64")
	assert.Equal(t, []string{"limit", "kernel", "nice"}, options.names("limit", "kernel"))

	options, err = specRun(&result.Run{Samples: []result.Sample{{Values: result.Values{"kernel": "avx2"}}}})
	require.NoError(t, err, "a run without options")
	assert.Equal(t, "avx2", options.text("kernel"))

	_, err = specRun(&result.Run{Spec: "text"})
	require.Error(t, err)
	_, err = specRun(&result.Run{Spec: math.NaN})
	require.Error(t, err)
}

func TestJSON(t *testing.T) {
	run := plainRun()
	run.Findings, run.Samples[0].Quality.Reasons, run.Samples[0].Values = nil, nil, nil
	run.Warnings[0].Message = "a < b && c > d"
	out := write(t, JSON, run, Options{})
	assert.Contains(t, out, `"a < b && c > d"`)
	assert.Contains(t, out, `"findings": []`)
	assert.Contains(t, out, `"reasons": []`)
	assert.Contains(t, out, `"values": {}`)
	assert.Equal(t, out, write(t, JSON, run, Options{Terminal: true, Colour: true}), "the same everywhere")
	assert.Nil(t, run.Findings, "the run is not changed")
	assert.Nil(t, run.Samples[0].Values)
	assert.Nil(t, run.Samples[0].Quality.Reasons)

	run.Samples[0].Seconds = math.NaN()
	require.ErrorContains(t, JSON(io.Discard, run, Options{}), "cannot write JSON")
}

func TestCSVReadsBackExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := plainRun()
		s := &run.Samples[0]
		s.Seconds = rapid.Float64().Draw(t, "seconds")
		figure := rapid.Float64().Draw(t, "figure")
		note := rapid.StringMatching(`[ -~é]*`).Draw(t, "note")
		mhz := rapid.Float64().Draw(t, "MHz")
		s.Values = result.Values{"figure": figure, "note": note, "mhz": "not the signal"}
		s.Quality.Signals = result.Signals{MHz: &mhz}

		rows, err := csv.NewReader(strings.NewReader(write(t, CSV, run, Options{}))).ReadAll()
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
		assert.Equal(t, note, cells["note"])
		assert.Equal(t, "not the signal", cells["values.mhz"])
		assert.Empty(t, cells["migrations"], "what is missing is empty, not 0")
	})
}

func TestBenchfmtReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := samplesRun()
		run.Host.CPUModel = rapid.StringMatching(`[ -~\t\n]*`).Draw(t, "model")
		run.Spec = map[string]any{"method": rapid.String().Draw(t, "method"), "pin_cpus": "0-3"}
		for i := range run.Samples {
			run.Samples[i].Seconds = rapid.Float64Range(1e-9, 1e6).Draw(t, "seconds")
		}
		reader := benchfmt.NewReader(strings.NewReader(write(t, Benchfmt, run, Options{})), "run")
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

// brokenWriter is a full disk or a closed pipe.
type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWriteErrorsAreReported(t *testing.T) {
	for _, format := range Formats {
		require.ErrorIs(t, format.Write(brokenWriter{}, plainRun(), Options{}), errBroken, format.Name)
	}
}
