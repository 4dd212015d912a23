package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"gorun/internal/result"
)

// Exporter holds a run's series, for Serve and KeepTextfile.
// The process's own series (go_*, process_*, go_build_info) are separate and only served: in a textfile they would
// clash with node_exporter's own, which then drops the whole scrape.
type Exporter struct {
	collector *collector
	run       *prometheus.Registry
	process   *prometheus.Registry
}

// NewExporter exports the run that live reads. live is called once per scrape, from any goroutine, and also after the
// run.
func NewExporter(live func() result.Live, info Info) *Exporter {
	e := &Exporter{newCollector(live, info), prometheus.NewRegistry(), prometheus.NewRegistry()}
	e.run.MustRegister(e.collector)
	e.process.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsScheduler)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	return e
}
