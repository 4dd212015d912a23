package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"gorun/internal/hint"
	"gorun/internal/result"
	"gorun/internal/shell"
)

// Selector selects series of an endpoint: those of a name that have the labels, whatever others they have.
type Selector struct {
	Name   string
	Labels map[string]string
}

// ParseSelector parses NAME or NAME{label="value",…}.
func ParseSelector(text string) (s Selector, err error) {
	families, err := parse(strings.NewReader(text + " 0\n"))
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

func parse(text io.Reader) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(text)
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
		err = s.page.read(answer.Body, mostScraped)
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

// Series is what an endpoint has of a selector: the sum over its series.
type Series struct {
	Value   float64
	Counter bool
	count   uint64             // of a histogram
	buckets map[float64]uint64 // cumulative, by upper bound
	known   bool
}

// Find returns the series of a selector that has one figure. NAME_count and NAME_sum of a histogram or a summary are counters; their
// bare name and a bucket are refused: neither is a figure.
func (s *Scrape) Find(of Selector) (found Series, err error) {
	k := s.page.of(of)
	if what := distributions[k.kind]; what != "" && k.part == "" {
		return found, hint.With(fmt.Errorf("%s is a %s", of.Name, what), figuresOf(of, of.Name, k.kind))
	}
	return s.find(of, k)
}

// FindHistogram returns the series of a selector of a histogram with buckets.
func (s *Scrape) FindHistogram(of Selector) (found Series, err error) {
	k := s.page.of(of)
	if found, err = s.find(of, k); err == nil && (k.part != "" || len(found.buckets) == 0) {
		err = fmt.Errorf("%s is no histogram with buckets", of)
	}
	return found, err
}

// distributions are the types whose bare name has no figure.
var distributions = map[dto.MetricType]string{
	dto.MetricType_HISTOGRAM: "histogram", dto.MetricType_GAUGE_HISTOGRAM: "histogram", dto.MetricType_SUMMARY: "summary",
}

// figuresOf returns a hint that names the figures of a distribution.
func figuresOf(of Selector, name string, kind dto.MetricType) string {
	labels := maps.Clone(of.Labels)
	delete(labels, "le")
	delete(labels, "quantile")
	text := fmt.Sprintf("--metric %s is the rate of its observations", shell.Quote(Selector{name + countPart, labels}.String()))
	if kind != dto.MetricType_SUMMARY {
		text += fmt.Sprintf("; 'histogram_quantile(0.99, %s)' is a quantile", Selector{name, labels})
	}
	return text
}

// The ends of the names of a histogram's series.
const (
	bucketPart = "_bucket"
	countPart  = "_count"
	sumPart    = "_sum"
)

func (s *Scrape) find(of Selector, k *kept) (found Series, err error) {
	switch {
	case k.part == bucketPart:
		return found, hint.With(fmt.Errorf("%s is a bucket of a histogram", of.Name), figuresOf(of, strings.TrimSuffix(of.Name, bucketPart), k.kind))
	case !k.series.known && s.page.unreadable != nil:
		return found, fmt.Errorf("the endpoint's text cannot be read: %w", s.page.unreadable)
	case !k.series.known:
		return found, hint.With(fmt.Errorf("the endpoint has no series %s", of), s.page.near(of, k))
	}
	return k.series, nil
}

// shownNear is the number of series that a hint shows.
const shownNear = 3

// near returns a hint for a selector that selects nothing: the series of its name, or else the names on the page that are most alike.
func (p *page) near(of Selector, k *kept) string {
	if len(k.others) > 0 {
		return "it has " + few(k.others)
	}
	names := slices.Collect(maps.Keys(p.kinds))
	for name, kind := range p.kinds {
		if kind == dto.MetricType_HISTOGRAM || kind == dto.MetricType_SUMMARY {
			names = append(names, name+countPart, name+sumPart)
		}
	}
	most := leastAlike
	var near []string
	for _, name := range slices.Sorted(slices.Values(names)) {
		switch alike := alike(name, of.Name); {
		case alike > most:
			near, most = []string{name}, alike
		case alike == most:
			near = append(near, name)
		}
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

// alike returns how alike a name on the page and another one are, from 0 to 1: 1 if it begins with that, and else the share of their
// pairs of neighbouring letters that both have (Dice's coefficient).
func alike(a, b string) float64 {
	if strings.HasPrefix(a, b) {
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
	labels := make([]string, 0, len(s.Labels))
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		labels = append(labels, fmt.Sprintf("%s=%q", name, s.Labels[name]))
	}
	if len(labels) == 0 {
		return s.Name
	}
	return s.Name + "{" + strings.Join(labels, ",") + "}"
}

func (s Selector) matches(m *dto.Metric) bool {
	equal := 0
	for _, label := range m.GetLabel() {
		if value, asked := s.Labels[label.GetName()]; asked && value == label.GetValue() {
			equal++
		}
	}
	return equal == len(s.Labels)
}

// add adds a series.
func (s *Series) add(kind dto.MetricType, part string, m *dto.Metric) {
	s.known = true
	switch kind {
	case dto.MetricType_COUNTER:
		s.Value, s.Counter = s.Value+m.GetCounter().GetValue(), true
	case dto.MetricType_GAUGE:
		s.Value += m.GetGauge().GetValue()
	case dto.MetricType_UNTYPED:
		s.Value += m.GetUntyped().GetValue()
	case dto.MetricType_SUMMARY:
		s.Counter = true
		s.of(part, m.GetSummary().GetSampleCount(), m.GetSummary().GetSampleSum())
	case dto.MetricType_HISTOGRAM, dto.MetricType_GAUGE_HISTOGRAM:
		s.Counter = true
		s.of(part, m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum())
		s.count += m.GetHistogram().GetSampleCount()
		for _, bucket := range m.GetHistogram().GetBucket() {
			if s.buckets == nil {
				s.buckets = map[float64]uint64{}
			}
			s.buckets[bucket.GetUpperBound()] += bucket.GetCumulativeCount()
		}
	}
}

func (s *Series) of(part string, count uint64, sum float64) {
	if part == sumPart {
		s.Value += sum
		return
	}
	s.Value += float64(count)
}

// ErrRestarted is the error of a counter that went down.
var ErrRestarted = errors.New("the counter went down: the program was restarted")

// Rate returns how much a counter grew a second between two scrapes, or the mean of a gauge.
func Rate(from, to *Scrape, of Selector) (float64, error) {
	a, err := from.Find(of)
	if err != nil {
		return 0, err
	}
	b, err := to.Find(of)
	switch {
	case err != nil:
		return 0, err
	case !b.Counter:
		return (a.Value + b.Value) / 2, nil
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
	switch {
	case err != nil:
		return 0, in, err
	case b.count < a.count:
		return 0, in, ErrRestarted
	case b.count == a.count:
		return 0, in, errors.New("the histogram had no observation in the block")
	}
	if strings.HasSuffix(of.Name, "_seconds") { // the convention of Prometheus: base units, named last
		in.Unit = "s"
	}
	rank := q * float64(b.count-a.count)
	below := 0.0
	for _, bound := range slices.Sorted(maps.Keys(b.buckets)) {
		upTo := float64(b.buckets[bound] - a.buckets[bound])
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
