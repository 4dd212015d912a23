package metrics

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/base/hint"
	"gorun/internal/record/result"
)

func TestParseSelector(t *testing.T) {
	for text, want := range map[string]Selector{
		"up":                       {"up", map[string]string{}},
		`a_total{x="1",y="b \"c"}`: {"a_total", map[string]string{"x": "1", "y": `b "c`}},
	} {
		s, err := ParseSelector(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, s)
	}
	for _, text := range []string{"", "rate(x)", "a b", "a{", "x 1\ny"} {
		_, err := ParseSelector(text)
		assert.Error(t, err, text)
	}
}

// pageOf is a page of metrics after n requests. Half of them were fast.
func pageOf(n int) string {
	return fmt.Sprintf(`# TYPE asked_total counter
asked_total{code="200",path="/"} %d
asked_total{code="200",path="/b"} %d
asked_total{code="500",path="/"} 1
# TYPE waiting gauge
waiting 3
untyped_total %[1]d
# TYPE took histogram
took_bucket{le="0.1"} %[3]d
took_bucket{le="0.5"} %[1]d
took_bucket{le="+Inf"} %[1]d
took_sum 7
took_count %[1]d
`, 4*n, n, 2*n)
}

// scraped returns what is kept of a page for a selector.
func scraped(t *testing.T, text string, of Selector) *Scrape {
	t.Helper()
	s := &Scrape{page: newPage([]Selector{of})}
	require.NoError(t, s.page.read(strings.NewReader(text), mostScraped))
	return s
}

// A selector that selects nothing is answered by what the page has instead.
func TestNear(t *testing.T) {
	for text, want := range map[string]string{
		"asked":                   "it has asked_total",
		"untyped":                 "it has untyped_total",
		"took_cuont":              "it has took_count",
		`asked_total{code="404"}`: `it has asked_total{code="200",path="/"}, asked_total{code="200",path="/b"}, asked_total{code="500",path="/"}`,
		"go_goroutines":           "its page lists all names and labels",
	} {
		of, err := ParseSelector(text)
		require.NoError(t, err)
		_, err = scraped(t, pageOf(1), of).Find(of)
		require.ErrorContains(t, err, "the endpoint has no series "+text)
		assert.Equal(t, want, hint.Of(err), text)
	}
}

// A histogram, a summary and all of their series are no figure: what is one is named.
func TestDistributions(t *testing.T) {
	text := pageOf(1) + `# TYPE asks summary
asks{quantile="0.9"} 5
asks{quantile="0.9",path="/"} 5
asks_sum 7
asks_count 1
# TYPE holds gaugehistogram
holds_bucket{le="+Inf"} 5
cut_bucket{le="1"} 5
`
	const took, rate = "'histogram_quantile(0.99, took)' is a quantile", "is the rate of its observations"
	for selector, want := range map[string][2]string{
		"took":                  {"took is a histogram", "--metric took_count " + rate + "; " + took},
		"cut":                   {"cut is a histogram", "--metric cut_count " + rate + "; 'histogram_quantile(0.99, cut)' is a quantile"},
		"took_bucket":           {"took_bucket is each bucket of a histogram", "--metric took_count " + rate + "; " + took + `; 'took_bucket{le="0.1"}' is one of its series`},
		`took_bucket{le="0.2"}`: {`the endpoint has no series took_bucket{le="0.2"}`, `it has took_bucket{le="0.1"}, took_bucket{le="0.5"}, took_bucket{le="+Inf"}`},
		"asks":                  {"asks is a summary", "--metric asks_count " + rate + `; 'asks{quantile="0.9"}' is one of its series`},
		`asks{quantile="0.90"}`: {`asks{quantile="0.90"} is a quantile of 2 series, which has no sum`, `name one by its labels, as asks{quantile="0.9"}`},
	} {
		of, err := ParseSelector(selector)
		require.NoError(t, err)
		_, err = scraped(t, text, of).Find(of)
		require.EqualError(t, err, want[0])
		assert.Equal(t, want[1], hint.Of(err), selector)
	}
	for name, says := range map[string]string{
		"asked_total": "asked_total is no histogram with buckets", "asks": "asks is no histogram with buckets",
		"took_count": "took_count is no histogram with buckets", "missing": "the endpoint has no series missing",
		"holds": "holds is a histogram of what is there now, and not of what was observed in a block",
		"cut":   `cut has no bucket with le="+Inf", which counts all observations`,
	} {
		of := Selector{Name: name}
		_, err := scraped(t, text, of).FindHistogram(of)
		assert.EqualError(t, err, says)
	}
}

// Pages of many exporters, and odd ones: what a selector finds on them, as which type, or why nothing.
func TestPages(t *testing.T) {
	const jmx = "# HELP X_total Requests.\n# TYPE X_total counter\nX 1000000669\n"
	const openMetrics = `# TYPE lat histogram
# UNIT lat seconds
lat_bucket{le="0.1"} 8 # {trace_id="x} y"} 0.05 1.5e9
lat_bucket{le="1"} 9.0 1520879607.789 # {} 1
lat_bucket{le="+Inf"} 10
lat_count 10 # {a="b"} 1
lat_sum 3.5
lat_created 1520872607.123
# TYPE asked counter
asked_total{code="200"} 7 # {trace_id="y"} 1.0
asked_created{code="200"} 1520872607.123
# TYPE build info
build_info{version="1.2"} 1
# TYPE state stateset
state{state="a"} 1
# TYPE odd unknown
odd 4
# TYPE now gaugehistogram
now_bucket{le="+Inf"} 6
now_gcount 6
now_gsum 3
# EOF
`
	const summary = "# TYPE lat summary\nlat{quantile=\"0.5\"} 0.25\nlat_sum 3\nlat_count 9\n"
	const broken = "a_total 1\nlat_count 12 x\x1b[31m\nb{x=\"1} 5\nb{x=\"2\"} wrong\nb_total 2\n"
	for _, c := range []struct {
		from, text, of string
		value          float64
		as             Type
		fails          string
	}{
		{"jmx_exporter", jmx, "X", 1000000669, "", ""},
		{"jmx_exporter", jmx, "X_total", 0, "", "the endpoint has no series X_total"},
		{"untyped", "# TYPE X_count untyped\nX_count 5\n", "X_count", 5, Counter, ""},
		{"untyped", "X_sum 5\n", "X_sum", 5, Counter, ""},
		{"untyped", "X_counter 5\n", "X_counter", 5, "", ""},
		{"untyped", "X{quantile=\"0.5\"} 5\n", `X{quantile="0.5"}`, 5, Gauge, ""},
		{"a gauge's name", "# TYPE X_total gauge\nX_total 5\n", "X_total", 5, Gauge, ""},
		{"types after their series", "X 5\n# TYPE X Counter\n", "X", 5, Counter, ""},
		{"two types", "# TYPE X_count gauge\n# TYPE X summary\nX_count 5\n", "X_count", 5, Gauge, ""},
		{"two types", "# TYPE X summary\n# TYPE X_count gauge\nX_count 5\n", "X_count", 5, Gauge, ""},
		{"OpenMetrics", openMetrics, "lat_count", 10, Counter, ""},
		{"OpenMetrics", openMetrics, "lat_sum", 3.5, Counter, ""},
		{"OpenMetrics", openMetrics, `lat_bucket{le="1e-1"}`, 8, Counter, ""},
		{"OpenMetrics", openMetrics, `lat_bucket{le="1.0"}`, 9, Counter, ""},
		{"OpenMetrics", openMetrics, `lat_bucket{le="Inf"}`, 10, Counter, ""},
		{"OpenMetrics", openMetrics, "lat_created", 1520872607.123, Gauge, ""},
		{"OpenMetrics", openMetrics, "asked_total", 7, Counter, ""},
		{"OpenMetrics", openMetrics, "asked", 0, "", "the endpoint has no series asked"},
		{"OpenMetrics", openMetrics, "asked_created", 1520872607.123, Gauge, ""},
		{"OpenMetrics", openMetrics, "build_info", 1, Gauge, ""},
		{"OpenMetrics", openMetrics, `state{state="a"}`, 1, Gauge, ""},
		{"OpenMetrics", openMetrics, "odd", 4, "", ""},
		{"OpenMetrics", openMetrics, `now_bucket{le="+Inf"}`, 6, Gauge, ""},
		{"OpenMetrics", openMetrics, "now_gcount", 6, Gauge, ""},
		{"OpenMetrics", openMetrics, "now", 0, "", "now is a histogram"},
		{"CRLF", strings.ReplaceAll(openMetrics, "\n", "\r\n"), "lat_count", 10, Counter, ""},
		{"no line end", "# TYPE X gauge\nX 5", "X", 5, Gauge, ""},
		{"summary", summary, `lat{quantile="0.50"}`, 0.25, Gauge, ""},
		{"summary", summary, "lat_count", 9, Counter, ""},
		{"node_exporter", "# TYPE node_cpu_seconds_total counter\nnode_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 1.5e+06\n", `node_cpu_seconds_total{mode="idle"}`, 1.5e6, Counter, ""},
		{"nginx-vts", "# TYPE n_total counter\nn_total{host=\"a{b}\\\"c,\\\\\",} 5\n", `n_total{host="a{b}\"c,\\"}`, 5, Counter, ""},
		{"HAProxy", "# TYPE haproxy_frontend_status gauge\nhaproxy_frontend_status{proxy=\"a\",state=\"UP\"} 1 1700000000000\n", "haproxy_frontend_status", 1, Gauge, ""},
		{"Envoy", "# TYPE envoy_rq_time histogram\nenvoy_rq_time_bucket{c=\"a\",le=\"0.5\"} 0\nenvoy_rq_time_count{c=\"a\"} 3\n", "envoy_rq_time_count", 3, Counter, ""},
		{"Redis exporter", "# TYPE redis_up gauge\nredis_up\t1\n", "redis_up", 1, Gauge, ""},
		{"OpenTelemetry", "# TYPE \"my.calls\" counter\n{\"my.calls\",\"a.b\"=\"c\"} 5\n", `{"my.calls","a.b"="c"}`, 5, Counter, ""},
		{"expvar", "{\n\"X\": 5\n}\n", "X", 0, "", `the endpoint has no series X, and line 1 of the page, "{", cannot be read: its labels do not end`},
		{"a page for people", "<!DOCTYPE html>\n", "X", 0, "", `the endpoint has no series X, and line 1 of the page, "<!DOCTYPE html>", cannot be read: it does not begin with a name`},
		{"words", "404 page not found\n", "X", 0, "", "cannot be read: it does not begin with a name"},
		{"protobuf", "\x0a\x03foo\x12", "X", 0, "", "cannot be read: it does not begin with a name"},
		{"broken lines", broken, "a_total", 1, Counter, ""},
		{"broken lines", broken, "b_total", 2, Counter, ""},
		{"broken lines", broken, "lat_count", 0, "", `line 2 of the page, "lat_count 12 x\x1b[31m", cannot be read: its time is "x\x1b[31m"`},
		{"broken lines", broken, `b{x="2"}`, 0, "", `line 3 of the page, "b{x=\"1} 5", cannot be read: its label x has no value in quotes`},
		{"broken lines", "b{x=\"2\"} wrong\nb{x=\"1\"} 3\n", `b{x="1"}`, 3, "", ""},
		{"broken lines", "b{x=\"2\"} wrong\nb{x=\"1\"} 3\n", `b{x="2"}`, 0, "", `its value is "wrong"`},
		{"broken lines", "b 1 2 3\n", "b", 0, "", `its time is followed by "3"`},
		{"broken lines", "b{x=1} 2\n", "b", 0, "", "its label x has no value in quotes"},
		{"broken lines", "b{x} 2\n", "b", 0, "", "its labels do not end"},
		{"broken lines", "b 0x1p4\n", "b", 0, "", `its value is "0x1p4"`},
		{"broken lines", "b\n", "b", 0, "", `its value is ""`},
	} {
		of, err := ParseSelector(c.of)
		require.NoError(t, err, c.of)
		assert.Equal(t, of, must(t, of.String()), "it is written as it is read")
		found, err := scraped(t, c.text, of).Find(of)
		if c.fails != "" {
			assert.ErrorContains(t, err, c.fails, "%s: %s", c.from, c.of)
			continue
		}
		if assert.NoError(t, err, "%s: %s", c.from, c.of) {
			assert.InDelta(t, c.value, found.Value, 0, "%s: %s", c.from, c.of)
			assert.Equal(t, c.as, found.Type, "%s: %s", c.from, c.of)
		}
	}
}

func must(t *testing.T, selector string) Selector {
	t.Helper()
	s, err := ParseSelector(selector)
	require.NoError(t, err)
	return s
}

// Each line that the library of Prometheus reads is read, and as it does.
func TestLinesAsPrometheusReadsThem(t *testing.T) {
	one := func(of ...string) *rapid.Generator[string] { return rapid.SampledFrom(of) }
	labels := rapid.SliceOfN(one(`a="b"`, ` le = "0.5" `, `"x y"`, `"ö"="\"}\\,"`, `c="\n#"`, `d="`, "e", `f=1`, "", " "), 0, 3)
	parts := []*rapid.Generator[string]{
		one("a", "_b:c ", "9", "ä", "#", ""), one("{", " { ", ""), rapid.Map(labels, func(of []string) string { return strings.Join(of, ",") }),
		one("}", "} ", ",}", ""), one(" 1", "\t-2.5e3", "1", " NaN", " +Inf", " 1_0", " 0x1p4", " x", ""), one("", " 7", " 7 8", " x", "\t#"),
	}
	usual := []string{"a", "{", `a="b",c="d"`, "}", " 1", " 7"} // of most parts, so that lines are read
	read, glued := 0, regexp.MustCompile(`^[\w:]*[^\w: \t{]`)   // a name without braces in quotes, or without a blank after it
	rapid.Check(t, func(t *rapid.T) {
		var text string
		for i, part := range parts {
			if rapid.IntRange(0, 3).Draw(t, "odd") > 0 {
				part = one(usual[i])
			}
			text += part.Draw(t, "part")
		}
		text = strings.TrimSpace(text)
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(text + "\n"))
		if err != nil || len(families) != 1 || glued.MatchString(text) {
			return
		}
		read++
		l := line{}
		require.NoError(t, l.read([]byte(text)), "%q", text)
		for name, family := range families {
			assert.Equal(t, name, string(l.name), "%q", text)
			m := family.GetMetric()[0]
			require.Len(t, l.labels, len(m.GetLabel()), "%q", text)
			for i, of := range m.GetLabel() {
				assert.Equal(t, of.GetName()+"="+of.GetValue(), string(l.labels[i].name)+"="+string(l.labels[i].value), "%q", text)
			}
			assert.Equal(t, fmt.Sprint(m.GetUntyped().GetValue()), fmt.Sprint(l.value), "%q", text)
		}
	})
	assert.Positive(t, read)
}

// What is no text, or not all of it, is an error of the endpoint, and not of a series.
func TestContentTypes(t *testing.T) {
	for _, c := range []struct{ kind, text, fails string }{
		{"text/plain; version=0.0.4", "X 1\n", ""},
		{"", "X 1\n", ""},
		{"application/openmetrics-text; version=1.0.0; charset=utf-8", "X 1\n# EOF\n", ""},
		{"application/openmetrics-text; version=1.0.0; charset=utf-8", "X 1\n", "does not end in # EOF: it is cut off"},
		{"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited", "X 1\n", "answers in protobuf"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, "text/plain;version=0.0.4", r.Header.Get("Accept"))
			w.Header()["Content-Type"] = []string{c.kind}
			fmt.Fprint(w, c.text)
		}))
		of := Selector{Name: "X"}
		e, err := NewEndpoint(server.URL, of)
		require.NoError(t, err)
		s, err := e.Scrape(t.Context())
		if c.fails != "" {
			assert.ErrorContains(t, err, c.fails)
		} else if assert.NoError(t, err, c.kind) {
			_, err = s.Find(of)
			assert.NoError(t, err)
		}
		e.Close()
		server.Close()
	}
}

// A series is read as the user says, whatever its type; one that is a counter by its name alone may be none.
func TestRates(t *testing.T) {
	of := Selector{Name: "X_total"}
	at := func(text string, second int64) *Scrape {
		s := scraped(t, text, of)
		s.Sent = time.Unix(second, 0)
		s.Received = s.Sent
		return s
	}
	const typed = "# TYPE X_total "
	for _, c := range []struct {
		text string
		as   Type
		want float64
	}{
		{"X_total", "", 2},
		{"X_total", Gauge, 6},
		{typed + "gauge\nX_total", "", 6},
		{typed + "gauge\nX_total", Counter, 2},
		{typed + "counter\nX_total", Gauge, 6},
		{typed + "counter\nX_total", Counter, 2},
	} {
		from, to := at(c.text+" 4\n", 10), at(c.text+" 8\n", 12)
		got, err := Rate(from, to, of, c.as)
		require.NoError(t, err)
		assert.InDelta(t, c.want, got, 0, c.text)
		_, err = Rate(to, from, of, c.as)
		if c.want == 6 {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, ErrRestarted)
		assert.Equal(t, c.text == "X_total", hint.Of(err) == "--metric 'gauge(X_total)' reads it as one that may go down", c.text)
	}
}

func TestScrapeAnother(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, pageOf(int(asked.Add(1))))
	}))
	defer server.Close()
	var selectors []Selector
	for _, text := range []string{`asked_total{code="200"}`, "asked_total", "untyped_total", "took_count", "took_sum", "waiting", "took", `waiting{x="1"}`} {
		s, err := ParseSelector(text)
		require.NoError(t, err)
		selectors = append(selectors, s)
	}
	e, err := NewEndpoint(server.URL, selectors...)
	require.NoError(t, err)
	defer e.Close()
	from, err := e.Scrape(t.Context())
	require.NoError(t, err)
	to, err := e.Scrape(t.Context())
	require.NoError(t, err)
	seconds := to.At().Sub(from.At()).Seconds()
	for text, want := range map[string]float64{
		`asked_total{code="200"}`: 5 / seconds,
		"asked_total":             5 / seconds,
		"untyped_total":           4 / seconds,
		"took_count":              4 / seconds,
		"took_sum":                0,
		"waiting":                 3,
	} {
		s, err := ParseSelector(text)
		require.NoError(t, err)
		rate, err := Rate(from, to, s, "")
		require.NoError(t, err, text)
		assert.InEpsilon(t, 1+want, 1+rate, 1e-6, text)
	}
	took, err := ParseSelector("took")
	require.NoError(t, err)
	inBucket := map[float64]result.Bucket{0.25: {To: 0.1}, 0.5: {To: 0.1}, 0.75: {From: 0.1, To: 0.5}}
	for q, want := range map[float64]float64{0.25: 0.05, 0.5: 0.1, 0.75: 0.3} {
		quantile, in, err := Quantile(from, to, took, q)
		require.NoError(t, err)
		assert.InDelta(t, want, quantile, 1e-9)
		assert.Equal(t, inBucket[q], in)
	}
	_, err = Rate(to, from, Selector{Name: "took_count"}, "")
	require.ErrorIs(t, err, ErrRestarted)
	_, _, err = Quantile(from, from, took, 0.5)
	require.ErrorContains(t, err, "no observation")
	_, err = from.Find(Selector{Name: "waiting", Labels: map[string]string{"x": "1"}})
	require.ErrorContains(t, err, `no series waiting{x="1"}`)
	for _, address := range []string{"localhost:1", "ftp://x", "http://"} {
		_, err := NewEndpoint(address)
		assert.Error(t, err, address)
	}
	missing, err := NewEndpoint(server.URL + "\x00")
	if err == nil {
		_, err = missing.Scrape(t.Context())
	}
	require.Error(t, err)
}

// lines are n lines, each with its number.
type lines struct {
	n, next int
	format  string
	rest    []byte
}

func (l *lines) Read(to []byte) (int, error) {
	for ; len(l.rest) < len(to) && l.next < l.n; l.next++ {
		l.rest = fmt.Appendf(l.rest, l.format, l.next)
	}
	if len(l.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(to, l.rest)
	l.rest = l.rest[:copy(l.rest, l.rest[n:])]
	return n, nil
}

// Of a page, memory is taken only for the series that are asked for, and those are added up as they come. What is too long is an error.
func TestScrapeOfALongPage(t *testing.T) {
	of := Selector{"wanted", map[string]string{"of": "a"}}
	read := func(format string, n int) (*Scrape, error) {
		s := &Scrape{page: newPage([]Selector{of})}
		return s, s.page.read(io.MultiReader(strings.NewReader("# TYPE wanted counter\n"), &lines{n: n, format: format}), mostScraped)
	}
	var peak, now runtime.MemStats
	for format, want := range map[string]float64{
		`other{path="/%d"} 1` + "\n":         0,
		`wanted{path="/%d"} 1` + "\n":        0,
		"other_%d 1\n":                       0,
		`wanted{of="a",path="/%d"} 2` + "\n": 2 << 18,
		strings.Repeat(" ", 30) + `wanted{of = "a",path="/%d"} 0.5` + "\n": 1 << 17,
	} {
		runtime.GC()
		runtime.ReadMemStats(&peak)
		s, err := read(format, 1<<18)
		require.NoError(t, err, format)
		if want > 0 {
			_, err = s.Find(of) // it parses what was kept
			require.NoError(t, err)
		}
		runtime.GC()
		runtime.ReadMemStats(&now)
		assert.Less(t, int64(now.HeapAlloc)-int64(peak.HeapAlloc), int64(8<<20), format)
		series, err := s.Find(of)
		if want == 0 {
			require.ErrorContains(t, err, "the endpoint has no series wanted")
			continue
		}
		require.NoError(t, err)
		assert.InDelta(t, want, series.Value, 0)
	}
	_, err := read(strings.Repeat("#", 1<<10)+"%d\n", 1<<17)
	require.EqualError(t, err, "its page is longer than 64 MiB")
	_, err = read("%0100000d\n", 1)
	require.EqualError(t, err, "its page has a line longer than 64 KiB")
	s, err := read("<html> %d\n", 2)
	require.NoError(t, err)
	_, err = s.Find(of)
	require.ErrorContains(t, err, `the endpoint has no series wanted{of="a"}, and line 2 of the page, "<html> 0", cannot be read`)
}
