package command

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/hint"
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
		m, err := NewMetric(test.re)
		require.NoError(t, err)
		got, err := m.find([]byte(test.output))
		if test.err != "" {
			assert.ErrorContains(t, err, test.err, test.output)
			continue
		}
		require.NoError(t, err, test.output)
		assert.Equal(t, test.want, got, test.output)
	}
}

func TestMetricOfNoUse(t *testing.T) {
	for re, words := range map[string]string{
		"(?:a) b": "has 0 groups",
		"(a)(b)":  "has 2 groups",
		"(?:a)(b": "missing closing",
	} {
		_, err := NewMetric(re)
		assert.ErrorContains(t, err, words)
	}
	_, err := NewMetric("x")
	assert.Contains(t, hint.Of(err), "events per second")
}

// Any output gives a figure or an error, and a number printed by Go is read exactly.
func FuzzMetric(f *testing.F) {
	for _, seed := range []string{"1", "1,234.5", "1e5", "-1_000", "NaN", "0x1p4", "", "1 000 000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseFigure(text)
		if err != nil {
			return
		}
		again, err := ParseFigure(strconv.FormatFloat(got, 'g', -1, 64))
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}

func TestDirections(t *testing.T) {
	for text, want := range map[string][]string{
		"": {"", ""}, "higher": {"higher", "higher"}, "higher,lower": {"higher", "lower"}, "lower\nhigher": {"lower", "higher"},
		"lower, lower": {"lower", "lower"},
	} {
		got, err := Directions(text, 2)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for text, says := range map[string]string{
		"up": "--better up: a direction is higher or lower", "lower,lower,lower": "--better has 3 directions, and --metric 2 figures",
		",": "--better has 0 directions",
	} {
		_, err := Directions(text, 2)
		require.ErrorContains(t, err, says)
	}
}

// A metric is called by its group, or by the words before it.
func TestMetricName(t *testing.T) {
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
		assert.Equal(t, want, MetricName(text), "%s", text)
	}
}
