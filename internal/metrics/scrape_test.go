package metrics

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/hint"
	"gorun/internal/result"
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

// pageOf is a page of metrics after n requests, of which half were fast.
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

// A histogram, a summary and a bucket are no figure: what is one is named.
func TestDistributions(t *testing.T) {
	text := pageOf(1) + `# TYPE asks summary
asks{quantile="0.9"} 5
asks_sum 7
asks_count 1
`
	for selector, want := range map[string][2]string{
		"took": {"took is a histogram", "--metric took_count is the rate of its observations; 'histogram_quantile(0.99, took)' is a quantile"},
		`took_bucket{le="0.1",x="y"}`: {
			"took_bucket is a bucket of a histogram",
			`--metric 'took_count{x="y"}' is the rate of its observations; 'histogram_quantile(0.99, took{x="y"})' is a quantile`,
		},
		"asks":                 {"asks is a summary", "--metric asks_count is the rate of its observations"},
		`asks{quantile="0.9"}`: {"asks is a summary", "--metric asks_count is the rate of its observations"},
	} {
		of, err := ParseSelector(selector)
		require.NoError(t, err)
		_, err = scraped(t, text, of).Find(of)
		require.EqualError(t, err, want[0])
		assert.Equal(t, want[1], hint.Of(err))
	}
	for name, says := range map[string]string{
		"asked_total": "asked_total is no histogram with buckets", "asks": "asks is no histogram with buckets",
		"took_count": "took_count is no histogram with buckets", "took_bucket": "took_bucket is a bucket of a histogram",
		"missing": "the endpoint has no series missing",
	} {
		of := Selector{Name: name}
		_, err := scraped(t, text, of).FindHistogram(of)
		assert.EqualError(t, err, says)
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
		rate, err := Rate(from, to, s)
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
	_, err = Rate(to, from, Selector{Name: "took_count"})
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
	require.ErrorContains(t, err, "the endpoint's text cannot be read")
}
