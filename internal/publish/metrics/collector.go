// Package metrics exports a run to Prometheus: over HTTP during the run and for a while after it, or as a file for
// node_exporter's textfile collector. It also reads the endpoints that other programs serve, for their figures. It is the
// only package that knows the Prometheus client; callers pass a function that reads the run.
//
// Names follow https://prometheus.io/docs/practices/naming and pass promlint. Labels are bounded for any number of
// workers and cells: "cpu" by the CPUs of the run, "cell" by MaxCells, the others by their possible values.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"

	"gorun/internal/record/result"
)

// Info describes a run, for gorun_run_info: one series whose labels can be joined to the others.
type Info struct {
	Experiment string
	Version    string
	Method     string
	Kernel     string // of the method
	Dispatch   string
	Split      string
	Placement  string

	// Run tells runs apart that are exported side by side, in files of one directory, which node_exporter reads together. It is their
	// label "run". A run that is scraped has its own instance. "": no label.
	Run string
}

const runLabel = "run"

// Exporter collects a run's series, for Serve and KeepTextfile. It reads the run once per scrape; nothing is counted here, so a run
// without scrapes has no cost. The process's own series (go_*, process_*, go_build_info) are separate and only served: in a textfile they
// would clash with node_exporter's own, which then drops the whole scrape.
type Exporter struct {
	state func() result.State
	info  Info
	descs [len(Families)]*prometheus.Desc
	begun time.Time

	run, process *prometheus.Registry
}

// NewExporter exports a run, whose state is read once per scrape, from any goroutine, and also after the run.
func NewExporter(state func() result.State, info Info) *Exporter {
	e := &Exporter{state: state, info: info, begun: time.Now(), run: prometheus.NewRegistry(), process: prometheus.NewRegistry()}
	for i, f := range Families {
		e.descs[i] = prometheus.NewDesc(Prefix+f.Name, f.Help, f.Labels, nil)
	}
	e.run.MustRegister(e)
	e.process.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsScheduler)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	return e
}

// Describe sends every series the exporter can make, so that registering it twice is an error.
func (e *Exporter) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range e.descs {
		out <- desc
	}
}

// Collect sends the series of one reading of the run.
func (e *Exporter) Collect(out chan<- prometheus.Metric) {
	r := reading{e.state(), e.info}
	for i, f := range Families {
		desc := e.descs[i]
		if f.Type == Histogram {
			if h := f.histogram(r); h != nil {
				out <- e.newHistogram(desc, h)
			}
			continue
		}
		kind := prometheus.GaugeValue
		if f.Type == Counter {
			kind = prometheus.CounterValue
		}
		f.figures(r, func(figure float64, labels ...string) {
			for i := range labels {
				labels[i] = plain(labels[i])
			}
			out <- prometheus.MustNewConstMetric(desc, kind, figure, labels...)
		})
	}
}

// The classic buckets: up to 1 µs (2^-20 s), and each twice as wide as the one before, up to 17 minutes. Their
// bounds are ends of native buckets, so that the two never disagree.
const (
	leastBound = -20
	lastBound  = 10
)

// histogram is a constant histogram with classic and native buckets. The client has only constant histograms of one
// kind.
type histogram struct {
	native  prometheus.Metric
	classic []*dto.Bucket
}

func (e *Exporter) newHistogram(desc *prometheus.Desc, h *result.Histogram) prometheus.Metric {
	var m histogram
	for octave := leastBound; octave <= lastBound; octave++ {
		bound, count := float64(uint64(1)<<(octave-leastBound))/(1<<-leastBound), h.UpTo(octave)
		m.classic = append(m.classic, &dto.Bucket{UpperBound: &bound, CumulativeCount: &count})
	}
	native := map[int]int64{}
	for i, count := range h.Counts[1:] {
		if count > 0 {
			native[result.HistogramFirst+i] = int64(count)
		}
	}
	var err error
	m.native, err = prometheus.NewConstNativeHistogram(desc, h.Total(), h.Sum, native, nil, h.Counts[0],
		result.HistogramSchema, result.HistogramTiny, e.begun)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}

func (m histogram) Desc() *prometheus.Desc { return m.native.Desc() }

func (m histogram) Write(out *dto.Metric) error {
	if err := m.native.Write(out); err != nil {
		return err
	}
	out.Histogram.Bucket = m.classic
	return nil
}
