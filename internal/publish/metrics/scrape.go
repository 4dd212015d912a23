package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"gorun/internal/base/hint"
	"gorun/internal/base/shell"
	"gorun/internal/record/result"
)

// Selector selects the series of an endpoint that have a name and these labels. They may have other labels too.
type Selector struct {
	Name   string
	Labels map[string]string
}

// ParseSelector parses NAME or NAME{label="value",…}.
func ParseSelector(text string) (s Selector, err error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text + " 0\n"))
	if err != nil || len(families) != 1 {
		return s, hint.With(fmt.Errorf("%.60q selects no metric", text), `as in http_requests_total{code="200"}`)
	}
	s.Labels = map[string]string{}
	for name, family := range families {
		s.Name = name
		for _, label := range family.GetMetric()[0].GetLabel() {
			s.Labels[label.GetName()] = label.GetValue()
		}
	}
	return s, nil
}

// Endpoint is a Prometheus endpoint that another program serves.
type Endpoint struct {
	url       string
	client    http.Client
	selectors []Selector
}

// scrapePatience is the longest wait for an answer.
const scrapePatience = 5 * time.Second

// NewEndpoint returns the endpoint at an address. Of its page, only the series of these selectors are kept.
func NewEndpoint(address string, selectors ...Selector) (*Endpoint, error) {
	of, err := url.Parse(address)
	if err == nil && (of.Scheme != "http" && of.Scheme != "https" || of.Host == "") {
		err = hint.With(errors.New("it is no address of an endpoint"), "as http://localhost:9090/metrics")
	}
	if err != nil {
		return nil, err
	}
	return &Endpoint{url: address, client: http.Client{Timeout: scrapePatience}, selectors: selectors}, nil
}

// Close closes its connections.
func (e *Endpoint) Close() { e.client.CloseIdleConnections() }

// Scrape is the answer of an endpoint.
type Scrape struct {
	Sent, Received time.Time // the figures are of a moment between them
	page           *page
}

// mostScraped limits the page of an endpoint, in bytes.
const mostScraped = 64 << 20

// openMetrics is the type of content that some endpoints answer with, whatever they are asked for.
const openMetrics = "application/openmetrics-text"

// Scrape asks the endpoint.
func (e *Endpoint) Scrape(ctx context.Context) (*Scrape, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	s := &Scrape{Sent: time.Now(), page: newPage(e.selectors)}
	answer, err := e.client.Do(request)
	if err == nil {
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s answers %s", e.url, answer.Status)
		}
		kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
		if strings.Contains(kind, "protobuf") {
			return nil, fmt.Errorf("%s answers in protobuf (%s), and not in the text format that was asked for", e.url, kind)
		}
		if err = s.page.read(answer.Body, mostScraped); err == nil && kind == openMetrics && !s.page.whole {
			err = fmt.Errorf("%s answers with a page of OpenMetrics that does not end in # EOF: it is cut off", e.url)
		}
	}
	if late := net.Error(nil); errors.As(err, &late) && late.Timeout() && ctx.Err() == nil {
		err = fmt.Errorf("%s has not answered within %v", e.url, scrapePatience)
	}
	s.Received = time.Now()
	return s, err
}

// At returns the middle of the time in which the figures were taken.
func (s *Scrape) At() time.Time { return s.Sent.Add(s.Took() / 2) }

// Took returns how long the endpoint took to answer.
func (s *Scrape) Took() time.Duration { return s.Received.Sub(s.Sent) }

// Series is the sum of the series that a selector selects.
type Series struct {
	Value float64
	Type  Type // a Counter, a Gauge, or not known
	typed bool // the page has its type, and not only its name
}

// Find returns the series of a selector that has one figure. The bare name of a histogram or a summary is refused, and so are several
// buckets or quantiles: none is a figure.
func (s *Scrape) Find(of Selector) (found Series, err error) {
	k := s.page.of(of)
	switch found = k.found(); {
	case k.unreadable != nil:
		err = k.unreadable
	case found.Type == Histogram || k.summands == 0 && k.buckets != nil:
		err = hint.With(fmt.Errorf("%s is a histogram", of.Name), figuresOf(of, of.Name, false, ""))
	case k.summands == 0:
		err = s.missing(of, k)
	case k.unasked == bucketLabel:
		err = hint.With(fmt.Errorf("%s is each bucket of a histogram", of.Name), figuresOf(of, strings.TrimSuffix(of.Name, bucketPart), false, k.one))
	case k.unasked == quantileLabel:
		err = hint.With(fmt.Errorf("%s is a summary", of.Name), figuresOf(of, of.Name, true, k.one))
	case k.summands > 1 && of.Labels[quantileLabel] != "":
		err = hint.With(fmt.Errorf("%s is a quantile of %d series, which has no sum", of, k.summands), "name one by its labels, as "+k.one)
	}
	return found, err
}

// found returns what was found of a selector.
func (k *kept) found() Series {
	series := Series{k.value, "", k.typed != ""}
	_, quantile := k.selector.Labels[quantileLabel]
	switch {
	case series.typed:
		series.Type = types[k.typed][k.part]
	case quantile:
		series.Type = Gauge
	case slices.ContainsFunc(counted, func(part string) bool { return strings.HasSuffix(k.selector.Name, part) }):
		series.Type = Counter
	}
	return series
}

// FindHistogram returns the buckets of a selector of a histogram: how many observations were at most each bound.
func (s *Scrape) FindHistogram(of Selector) (buckets map[float64]float64, err error) {
	k := s.page.of(of)
	_, whole := k.buckets[math.Inf(1)]
	switch {
	case k.unreadable != nil:
		err = k.unreadable
	case k.typed == "gaugehistogram":
		err = fmt.Errorf("%s is a histogram of what is there now, and not of what was observed in a block", of)
	case k.buckets != nil && !whole:
		err = fmt.Errorf("%s has no bucket with le=\"+Inf\", which counts all observations", of)
	case k.buckets == nil && k.summands == 0 && (k.typed == "" || k.typed == "histogram"):
		err = s.missing(of, k)
	case k.buckets == nil:
		err = fmt.Errorf("%s is no histogram with buckets", of)
	}
	return k.buckets, err
}

// figuresOf returns a hint that names the figures of a histogram or a summary. one is one of its series; "": it has none.
func figuresOf(of Selector, name string, summary bool, one string) string {
	labels := maps.Clone(of.Labels)
	maps.DeleteFunc(labels, func(name, _ string) bool { return slices.Contains(numeric, name) })
	text := fmt.Sprintf("--metric %s is the rate of its observations", shell.Quote(Selector{name + countPart, labels}.String()))
	if !summary {
		text += fmt.Sprintf("; 'histogram_quantile(0.99, %s)' is a quantile", Selector{name, labels})
	}
	if one != "" {
		text += fmt.Sprintf("; %s is one of its series", shell.Quote(one))
	}
	return text
}

// missing is the error of a selector that selects nothing.
func (s *Scrape) missing(of Selector, k *kept) error {
	err := fmt.Errorf("the endpoint has no series %s", of)
	if s.page.unreadable != nil {
		err = fmt.Errorf("%w, and %w", err, s.page.unreadable)
	}
	return hint.With(err, s.page.near(of, k))
}

// shownNear is the number of series that a hint shows.
const shownNear = 3

// near returns a hint for a selector that selects nothing: the series of its name, or else the names on the page that are most alike.
func (p *page) near(of Selector, k *kept) string {
	if len(k.others) > 0 {
		return "it has " + few(k.others)
	}
	most := leastAlike
	var near []string
	for _, name := range slices.Sorted(maps.Keys(p.names)) {
		switch alike := alike(name, of.Name); {
		case alike > most:
			near, most = []string{name}, alike
		case alike == most:
			near = append(near, name)
		}
	}
	if len(p.names) == 0 && p.unreadable != nil {
		return "is it the address of metrics of Prometheus, as http://localhost:9090/metrics?"
	}
	if near == nil {
		return "its page lists all names and labels"
	}
	return "it has " + few(near)
}

func few(names []string) string {
	if len(names) > shownNear {
		names = append(names[:shownNear:shownNear], "…")
	}
	return strings.Join(names, ", ")
}

// leastAlike is how alike a name on the page must be to the one that was asked for.
const leastAlike = 0.6

// alike returns how alike a name on the page and another one are, from 0 to 1: 1 if one begins with the other, and else the share of their
// pairs of neighbouring letters that both have (Dice's coefficient).
func alike(a, b string) float64 {
	if strings.HasPrefix(a, b) || strings.HasPrefix(b, a+"_") {
		return 1
	}
	pairs := map[string]int{}
	for i := range len(a) - 1 {
		pairs[a[i:i+2]]++
	}
	both := 0
	for i := range len(b) - 1 {
		if pair := b[i : i+2]; pairs[pair] > 0 {
			pairs[pair]--
			both++
		}
	}
	return 2 * float64(both) / float64(max(1, len(a)+len(b)-2))
}

// String returns the selector as it is written.
func (s Selector) String() string {
	parts := make([]string, 0, 1+len(s.Labels))
	name := s.Name
	if !model.LegacyValidation.IsValidMetricName(name) {
		name, parts = "", append(parts, strconv.Quote(name))
	}
	for _, label := range slices.Sorted(maps.Keys(s.Labels)) {
		value := strconv.Quote(s.Labels[label])
		if !model.LegacyValidation.IsValidLabelName(label) {
			label = strconv.Quote(label)
		}
		parts = append(parts, label+"="+value)
	}
	if len(parts) == 0 {
		return name
	}
	return name + "{" + strings.Join(parts, ",") + "}"
}

// ErrRestarted is the error of a counter that went down.
var ErrRestarted = errors.New("the counter went down: the program was restarted")

// Rate returns how much a counter grew a second between two scrapes, or the mean of another series. It is read as a series of this
// type; "": of its own type.
func Rate(from, to *Scrape, of Selector, as Type) (float64, error) {
	a, err := from.Find(of)
	if err != nil {
		return 0, err
	}
	b, err := to.Find(of)
	switch as = cmp.Or(as, b.Type); {
	case err != nil:
		return 0, err
	case as != Counter:
		return (a.Value + b.Value) / 2, nil
	case b.Value < a.Value && !b.typed:
		return 0, hint.With(ErrRestarted, fmt.Sprintf("--metric %s reads it as one that may go down", shell.Quote("gauge("+of.String()+")")))
	case b.Value < a.Value:
		return 0, ErrRestarted
	}
	return (b.Value - a.Value) / to.At().Sub(from.At()).Seconds(), nil
}

// Quantile returns a quantile of the observations of a histogram between two scrapes, as histogram_quantile of Prometheus does: linear
// within a bucket; in the last one, the lower end. It also returns the bucket: nothing more is known of the quantile.
func Quantile(from, to *Scrape, of Selector, q float64) (quantile float64, in result.Bucket, err error) {
	a, err := from.FindHistogram(of)
	if err != nil {
		return 0, in, err
	}
	b, err := to.FindHistogram(of)
	all := math.Inf(1)
	switch {
	case err != nil:
		return 0, in, err
	case b[all] < a[all]:
		return 0, in, ErrRestarted
	case b[all] == a[all]:
		return 0, in, errors.New("the histogram had no observation in the block")
	}
	if strings.HasSuffix(of.Name, "_seconds") { // the convention of Prometheus: base units, named last
		in.Unit = "s"
	}
	rank := q * (b[all] - a[all])
	below := 0.0
	for _, bound := range slices.Sorted(maps.Keys(b)) {
		upTo := b[bound] - a[bound]
		switch {
		case upTo < rank:
			in.From, below = bound, upTo
			continue
		case math.IsInf(bound, 1):
			return in.From, in, nil
		}
		in.To = bound
		return in.From + (in.To-in.From)*(rank-below)/(upTo-below), in, nil
	}
	return in.From, in, nil
}
