package metrics

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// page is what is kept of a page of metrics, which is read as a stream: the series of some selectors, and the names.
type page struct {
	kept       []*kept
	names      map[string]bool // of its series, the first ones
	lines      int
	line       line  // the last one
	whole      bool  // it has the line that ends a page of OpenMetrics
	unreadable error // of the first line that cannot be read
}

// kept is what is kept of a page for a selector.
type kept struct {
	selector   Selector
	typed      string  // the type of its name, or of that without its last part; "": the page has none
	part       string  // that last part
	value      float64 // the sum of the series that it selects
	summands   int
	one        string              // the first of them
	unasked    string              // the numeric label that it lacks and these have
	buckets    map[float64]float64 // of the histogram of its name, cumulative, by upper bound
	others     []string            // series of its name that it does not select, the first ones
	unreadable error               // of the first of its lines that cannot be read
}

// Limits on what is kept of a page.
const (
	mostNames = 10_000
	longName  = 1 << 10
	longLine  = 64 << 10
)

func newPage(selectors []Selector) *page {
	p := &page{names: map[string]bool{}}
	for _, s := range selectors {
		p.kept = append(p.kept, &kept{selector: s})
	}
	return p
}

// of returns what is kept for a selector, which is one of those of the page.
func (p *page) of(s Selector) *kept {
	return p.kept[slices.IndexFunc(p.kept, func(k *kept) bool { return k.selector.String() == s.String() })]
}

// read reads a page, and no more of it than the limit.
func (p *page) read(from io.Reader, most int64) error {
	limited := &io.LimitedReader{R: from, N: most + 1}
	lines := bufio.NewReaderSize(limited, longLine)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case limited.N <= 0:
			return fmt.Errorf("its page is longer than %d MiB", most>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("its page has a line longer than %d KiB", longLine>>10)
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		p.lines++
		p.add(bytes.TrimSpace(line))
		if err != nil {
			return nil
		}
	}
}

// add adds a line.
func (p *page) add(text []byte) {
	switch {
	case len(text) == 0:
	case text[0] == '#':
		if name, kind, is := readType(text); is {
			for _, k := range p.kept {
				k.addType(name, kind)
			}
		}
		p.whole = p.whole || string(text) == "# EOF"
	default:
		if err := p.line.read(text); err != nil {
			p.misread(text, err)
			return
		}
		if name := p.line.name; !p.names[string(name)] && len(p.names) < mostNames && len(name) < longName {
			p.names[string(name)] = true
		}
		for _, k := range p.kept {
			k.add(&p.line)
		}
	}
}

// misread notes a line that cannot be read.
func (p *page) misread(text []byte, err error) {
	note := func(in *error) {
		if *in == nil {
			*in = fmt.Errorf("line %d of the page, %.200q, cannot be read: %w", p.lines, text, err)
		}
	}
	note(&p.unreadable)
	for _, k := range p.kept {
		if k.has(&p.line) && (!p.line.named || k.selector.selects(&p.line)) {
			note(&k.unreadable)
		}
	}
}

// The last parts of the names of series that a type has.
const (
	totalPart   = "_total"
	bucketPart  = "_bucket"
	countPart   = "_count"
	sumPart     = "_sum"
	createdPart = "_created"
)

// types are the types of series, by the type that a page gives to a name, and by what the name of the series has after that.
var types = map[string]map[string]Type{
	"counter":        {"": Counter, totalPart: Counter, createdPart: Gauge},
	"gauge":          {"": Gauge},
	"histogram":      {"": Histogram, bucketPart: Counter, countPart: Counter, sumPart: Counter, createdPart: Gauge},
	"gaugehistogram": {"": Histogram, bucketPart: Gauge, countPart: Gauge, sumPart: Gauge, "_gcount": Gauge, "_gsum": Gauge},
	"summary":        {"": Gauge, countPart: Counter, sumPart: Counter, createdPart: Gauge},
	"info":           {"": Gauge, "_info": Gauge},
	"stateset":       {"": Gauge},
}

// counted are the last parts of names that counters have by convention, for a page that does not give their types.
var counted = []string{totalPart, countPart, sumPart, bucketPart}

// addType adds the type of a name. That of the name itself counts more than that of a name without its last part.
func (k *kept) addType(name []byte, kind string) {
	part, ours := strings.CutPrefix(k.selector.Name, string(name))
	if _, has := types[kind][part]; ours && has && (k.typed == "" || len(part) < len(k.part)) {
		k.typed, k.part = kind, part
	}
}

// has reports whether a line has the selector's name, or that of the buckets of its histogram.
func (k *kept) has(l *line) bool {
	part, ours := bytes.CutPrefix(l.name, []byte(k.selector.Name))
	return ours && (len(part) == 0 || string(part) == bucketPart)
}

// add adds a line if its series is one of the selector's.
func (k *kept) add(l *line) {
	if !k.has(l) {
		return
	}
	switch selects := k.selector.selects(l); {
	case !selects && len(k.others) <= shownNear: // a hint shows the first ones
		k.others = append(k.others, l.series())
	case !selects:
	case len(l.name) > len(k.selector.Name):
		if bound, err := strconv.ParseFloat(l.of(bucketLabel), 64); err == nil {
			if k.buckets == nil {
				k.buckets = map[float64]float64{}
			}
			k.buckets[bound] += l.value
		}
	default:
		if k.summands++; k.one == "" {
			k.one = l.series()
		}
		k.value += l.value
		for _, label := range numeric {
			if _, asked := k.selector.Labels[label]; !asked && l.of(label) != "" {
				k.unasked = label
			}
		}
	}
}

// series returns the name and all labels of a line, as a selector is written.
func (l *line) series() string {
	s := Selector{string(l.name), map[string]string{}}
	for _, label := range l.labels {
		s.Labels[string(label.name)] = string(label.value)
	}
	return s.String()
}

// of returns the value of a label.
func (l *line) of(label string) string {
	for _, of := range l.labels {
		if string(of.name) == label {
			return string(of.value)
		}
	}
	return ""
}

// The labels whose values are numbers, which can be written in several ways: the upper bound of a bucket, and a quantile.
const (
	bucketLabel   = "le"
	quantileLabel = "quantile"
)

var numeric = []string{bucketLabel, quantileLabel}

// selects reports whether a line has the labels of the selector.
func (s Selector) selects(l *line) bool {
	equal := 0
	for _, label := range l.labels {
		if asked, is := s.Labels[string(label.name)]; is && (asked == string(label.value) ||
			slices.Contains(numeric, string(label.name)) && sameNumber(asked, string(label.value))) {
			equal++
		}
	}
	return equal == len(s.Labels)
}

func sameNumber(a, b string) bool {
	x, errA := strconv.ParseFloat(a, 64)
	y, errB := strconv.ParseFloat(b, 64)
	return errA == nil && errB == nil && x == y
}
