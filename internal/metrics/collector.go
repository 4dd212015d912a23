// Package metrics shows a run to Prometheus: over HTTP while it goes on and for a while after, as a file for
// node_exporter's textfile collector, or pushed to a Pushgateway at the end. It is the only package that knows the
// Prometheus client; callers hand it a function that reads the run.
//
// Names follow https://prometheus.io/docs/practices/naming and pass promlint. Labels are bounded: "cpu" by the CPUs
// that the run was given, "type" by its two values, and the info metric is one series a process.
package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"gorun/internal/result"
)

// Info is what a run is, for gorun_run_info: one series whose labels can be joined to the others.
type Info struct {
	Experiment string
	Version    string
	Method     string
	Kernel     string
	Dispatch   string
	Split      string
	Placement  string
}

// collector reads the run once a scrape; nothing is counted here, so a run without scrapes pays nothing.
type collector struct {
	live func() result.Live
	info prometheus.Metric
}

var _ prometheus.Collector = (*collector)(nil)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName("gorun", "", name), help, labels, nil)
}

// The series of a run. Durations are in seconds.
var (
	numbersTested   = desc("numbers_tested_total", "Numbers tested for primality.")
	primesFound     = desc("primes_found_total", "Primes found.")
	workersStarted  = desc("workers_started_total", "Workers that began their share.")
	workersFinished = desc("workers_finished_total", "Workers that finished their share.")
	workerDuration  = desc("worker_duration_seconds", "Wall time of a worker from its first number to its last.")
	cpuBusy         = desc("cpu_busy_seconds_total", "Wall time with a worker on the CPU.", "cpu")
	cpuWorkers      = desc("cpu_workers_total", "Workers that finished on the CPU.", "cpu")
	threads         = desc("threads", "OS threads of the process.")
	contextSwitches = desc("context_switches_total", "Context switches of the process's threads.", "type")
	samplesDone     = desc("samples_completed_total", "Samples that were measured.")
	samplesPlanned  = desc("samples_planned", "Samples that the run will measure; absent when it is open-ended.")
	runInfo         = desc("run_info", "What runs; the value is always 1.",
		"experiment", "version", "method", "kernel", "dispatch", "split", "placement")
)

// newCollector collects from live, which must be safe to call from any goroutine.
func newCollector(live func() result.Live, info Info) *collector {
	return &collector{live: live, info: prometheus.MustNewConstMetric(runInfo, prometheus.GaugeValue, 1,
		info.Experiment, info.Version, info.Method, info.Kernel, info.Dispatch, info.Split, info.Placement)}
}

// Describe sends every series the collector can make, so that registering it twice is an error.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range [...]*prometheus.Desc{
		numbersTested, primesFound, workersStarted, workersFinished, workerDuration, cpuBusy, cpuWorkers,
		threads, contextSwitches, samplesDone, samplesPlanned, runInfo,
	} {
		out <- d
	}
}

// Collect sends one reading of the run.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	live := c.live()
	counter := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
	}
	gauge := func(d *prometheus.Desc, value float64) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value)
	}

	counter(numbersTested, float64(live.NumbersTested))
	counter(primesFound, float64(live.PrimesFound))
	counter(workersStarted, float64(live.WorkersStarted))
	counter(workersFinished, float64(live.WorkersFinished))
	out <- histogram(live.WorkerSeconds)
	for _, cpu := range live.CPUs {
		label := strconv.Itoa(cpu.CPU)
		counter(cpuBusy, cpu.BusySeconds, label)
		counter(cpuWorkers, float64(cpu.Workers), label)
	}
	gauge(threads, float64(live.Threads))
	counter(contextSwitches, float64(live.VoluntarySwitches), "voluntary")
	counter(contextSwitches, float64(live.InvoluntarySwitches), "involuntary")
	counter(samplesDone, float64(live.SamplesDone))
	if live.SamplesPlanned > 0 {
		gauge(samplesPlanned, float64(live.SamplesPlanned))
	}
	out <- c.info
}

// histogram gives the workers' durations in cumulative buckets; those above the last bound are in the count alone,
// which is the +Inf bucket.
func histogram(h result.Histogram) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.Bounds))
	var total uint64
	for i, n := range h.Counts {
		total += n
		if i < len(h.Bounds) {
			buckets[h.Bounds[i]] = total
		}
	}
	return prometheus.MustNewConstHistogram(workerDuration, total, h.Sum, buckets)
}
