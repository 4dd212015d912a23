package printed

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/base/units"
	"gorun/internal/start/launch"
)

func TestMetric(t *testing.T) {
	for _, test := range []struct {
		re, output string
		want       float64
		err        string
	}{
		{`events per second: *([0-9.]+)`, "events per second:  1234.56\n", 1234.56, ""},
		{`(\d+) ops`, "10 ops\n20 ops\n30 ops\n", 30, ""},
		{`rate (\S+)`, "rate 1.5e-3", 0.0015, ""},
		{`rate (\S+)`, "rate -2E+6", -2e6, ""},
		{`rate (\S+)`, "rate 1,234,567.8", 1234567.8, ""},
		{`rate (\S+)`, "rate 1_234", 1234, ""},
		{`rate (\S+)`, "rate 12'345", 12345, ""},
		{`rate (.*) x`, "rate  1 234 x", 1234, ""},
		{`rate (\S+)`, "rate 12,34", 0, `"12,34" is not a decimal number`},
		{`rate (\S+)`, "rate 1,234'567", 0, "not a decimal number"},
		{`rate (\S+)`, "rate 0x10", 0, "not a decimal number"},
		{`rate (\S+)`, "rate 1e999", 0, "out of range"},
		{`rate (\S+)`, "rate NaN", 0, "not a decimal number"},
		{`rate (\S*)`, "rate ", 0, `"" is not a decimal number`},
		{`a(\d)?`, "a1 a", 0, "matches without its group"},
		{`rate ([0-9.]+)`, "rate 12,345.67 a second", 0, `takes "12" from the number "12,345.67"`},
		{`([0-9.]+) req/s`, "12,345.67 req/s", 0, `takes "345.67" from the number "12,345.67"`},
		{`rate.*([0-9.]+)`, "rate: 12.5", 0, `takes "5" from the number "12.5"`},
		{`rate ([0-9.]+)`, "rate 1.5e-3\n", 0, `takes "1.5" from the number "1.5e-3"`},
		{`rate (\d+)`, "rate 12.5", 0, `takes "12" from the number "12.5"`},
		{`rate (\d{2})`, "rate 1234", 0, `takes "12" from the number "1234"`},
		{`rate (\d+)\.`, "rate 12.5", 12, ""},
		{`rate,(\d+)`, "rate,12,34,567", 12, ""},
		{`rate,\d+,(\d+)`, "rate,12,345", 345, ""},
		{`(\d+)m`, "3m12.5s", 3, ""},
		{`p99=(\d+)`, "p50=1,p99=12, 999", 12, ""},
		{`rate (\d+)`, "a\nb\n", 0, `matches nothing in the output, which ends in "a b"`},
		{`rate (\d+)`, "", 0, "which is empty"},
	} {
		m, err := New(test.re)
		require.NoError(t, err)
		got, err := m.find([]byte(test.output))
		if test.err != "" {
			assert.ErrorContains(t, err, test.err, test.output)
			continue
		}
		require.NoError(t, err, test.output)
		assert.Equal(t, test.want, got.Value, test.output)
	}
}

// What programs print after their figures: the first line of each is from a run of that program.
func TestMetricWithUnit(t *testing.T) {
	for _, c := range []struct {
		re, output string
		want       units.Printed
	}{
		{`Latency +([0-9.]+)`, "    Latency     1.02ms  120.33us   3.14ms   68.52%", units.Printed{Value: 1.02, Unit: "ms"}}, // wrk
		{`Latency +([0-9.]+)`, "    Latency   980.20us  120.33us   3.14ms   68.52%", units.Printed{Value: 980.2, Unit: "us"}},
		{`Latency +([0-9.]+[a-z]+)`, "    Latency   980.20us  120.33us", units.Printed{Value: 980.2, Unit: "us"}},
		{`Transfer/sec: +([0-9.]+)`, "Transfer/sec:      1.20MB", units.Printed{Value: 1.2, Unit: "MB"}},
		{`Time per request: +([0-9.]+)`, "Time per request:       3.056 [ms] (mean)", units.Printed{Value: 3.056, Unit: "ms"}},             // ab
		{`latency average = ([0-9.]+)`, "latency average = 0.612 ms", units.Printed{Value: 0.612, Unit: "ms"}},                             // pgbench
		{` lat .*avg= *([0-9.]+)`, "     lat (usec): min=1, max=95, avg= 2.31, stdev= 0.50", units.Printed{Value: 2.31, Unit: "usec"}},     // fio
		{`IOPS=([0-9.]+)`, "  read: IOPS=318k, BW=1241MiB/s (1301MB/s)(1024MiB/825msec)", units.Printed{Value: 318, Unit: "k"}},            // fio
		{`BW=([0-9.]+)`, "  read: IOPS=318k, BW=1241MiB/s (1301MB/s)", units.Printed{Value: 1241, Unit: "MiB/s"}},                          // fio
		{`, ([0-9.]+) [A-Za-z]+/s`, "1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.0006 s, 1.8 GB/s", units.Printed{Value: 1.8, Unit: "GB/s"}}, // dd
		{`([0-9.]+) [A-Za-z]+/sec +receiver`, "[  5]   0.00-1.00   sec  5.61 GBytes  48.2 Gbits/sec                  receiver", units.Printed{Value: 48.2, Unit: "Gbits/sec"}},
		{`Time .*?: +([0-9.]+)`, "  Time (mean ± σ):       2.1 ms ±   0.3 ms", units.Printed{Value: 2.1, Unit: "ms"}}, // hyperfine
		{`BenchmarkA-2\s+\d+\s+([0-9.]+)`, "BenchmarkA-2   \t1000000\t  1043 ns/op", units.Printed{Value: 1043, Unit: "ns/op"}},
		{`real\s+(\S+)`, "real\t1m2.500s", units.Printed{Value: 62.5, Unit: "s"}}, // bash
		{`real\s+0m([0-9.]+)`, "real\t0m1.234s", units.Printed{Value: 1.234, Unit: "s"}},
		{`took (\S+)`, "took 1h2m3.5s", units.Printed{Value: 3723.5, Unit: "s"}},
		{`p50 (\S+)`, "p50 980.2µs", units.Printed{Value: 980.2, Unit: "µs"}}, // Go
		{`hits: ([0-9.]+)`, "hits: 99.5%", units.Printed{Value: 99.5, Unit: "%"}},
		{`score ([0-9]+)`, "score 15 good", units.Printed{Value: 15}},
		{`score ([0-9]+)`, "score 15 most", units.Printed{Value: 15}},
		{`score ([0-9]+)`, "score 15 s3", units.Printed{Value: 15}},
		{`score ([0-9]+)`, "score 15  s", units.Printed{Value: 15}},
		{`"lat": ([0-9]+)`, `{"lat": 15, "s": 1}`, units.Printed{Value: 15}},
		{`speed ([0-9.]+)`, "speed 1.5x", units.Printed{Value: 1.5, Unit: "x"}},
		{`rate ([0-9,]+)`, "rate 1,200 req/s", units.Printed{Value: 1200, Unit: "req/s"}},
	} {
		m, err := New(c.re)
		require.NoError(t, err)
		got, err := m.find([]byte(c.output))
		require.NoError(t, err, c.output)
		assert.Equal(t, c.want, got, c.output)
	}
	for output, re := range map[string]string{"took 1m2.5s": `took ([0-9]+)`, "took 2m3s": `.*?m([0-9.]+)`, "real\t1m2.500s": `m([0-9.]+)`} {
		m, err := New(re)
		require.NoError(t, err)
		_, err = m.find([]byte(output))
		assert.ErrorContains(t, err, "from a time of several parts", output)
	}
}

// Copies may print their figures in different units.
func TestMetricOfCopies(t *testing.T) {
	m, err := New(`lat ([0-9.]+)`)
	require.NoError(t, err)
	wrote := func(texts ...string) (of []launch.Ending) {
		for _, text := range texts {
			of = append(of, launch.Ending{Stdout: []byte(text)})
		}
		return of
	}
	mean, err := m.Mean(wrote("lat 1.5ms", "lat 500us"))
	require.NoError(t, err)
	assert.Equal(t, units.Printed{Value: 1, Unit: "ms"}, *mean)
	_, err = m.Mean(wrote("lat 1KB", "lat 1MB"))
	assert.ErrorContains(t, err, "copy 1: a figure in MB cannot be compared with one in KB")
}

func TestMetricOfNoUse(t *testing.T) {
	for re, words := range map[string]string{
		"(?:a) b": "has 0 groups",
		"(a)(b)":  "has 2 groups",
		"(?:a)(b": "missing closing",
	} {
		_, err := New(re)
		assert.ErrorContains(t, err, words)
	}
	_, err := New("x")
	assert.Contains(t, hint.Of(err), "events per second")
}

// Any output gives a figure or an error, and a number printed by Go is read exactly.
func FuzzMetric(f *testing.F) {
	for _, seed := range []string{"1", "1,234.5", "1e5", "-1_000", "NaN", "0x1p4", "", "1 000 000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(strconv.FormatFloat(got.Value, 'g', -1, 64))
		require.NoError(t, err)
		require.Equal(t, got.Value, again.Value)
	})
}

// A metric is called by its group, or by the words before it.
func TestName(t *testing.T) {
	for text, want := range map[string]string{
		`(?P<latency>[0-9.]+) ms`:         "latency",
		`rps=([0-9.]+)`:                   "rps",
		`score (\d+)`:                     "score",
		`Requests per second: *([0-9.]+)`: "Requests per second",
		`"p99":\s*([0-9.]+)`:              "p99",
		`(?m)^tps = ([0-9.]+)`:            "tps",
		`(?:a|b) rate: ([0-9.]+)`:         "rate",
		`([0-9.]+) requests`:              "",
		`\w+ ([0-9]+)`:                    "",
		`a very long name of a figure that no title has room for=([0-9]+)`: "",
	} {
		assert.Equal(t, want, Name(text), "%s", text)
	}
}
