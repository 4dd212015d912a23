package command

import (
	"gorun/internal/experiment"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
)

// Figures are the figures of one sample of `gorun exec`: a command and all its descendants. The sample's seconds are those
// from the command's start to its end.
type Figures struct {
	// The command's own figures; nil: it was not asked for, or not printed.
	Metric2 *float64 `json:"metric_2,omitempty" figure:",bench=metric_2" is:"The figure of the second --metric in the command's output."`
	Metric3 *float64 `json:"metric_3,omitempty" figure:",bench=metric_3" is:"The figure of the third --metric in the command's output."`
	Metric4 *float64 `json:"metric_4,omitempty" figure:",bench=metric_4" is:"The figure of the fourth --metric in the command's output."`

	ExitCode       int `json:"exit_code" figure:",csv=1" is:"The exit code of the command: 128 and the signal's number, if that ended it."`
	result.PeakRSS `figure:",csv=2"`
	Metric         *float64           `json:"metric,omitempty" figure:",csv=3,bench=metric" is:"The figure that --metric finds in the command's output."`
	Signal         int                `json:"signal,omitempty" label:"ended by signal" is:"The signal that ended the command."`
	TimedOut       bool               `json:"timed_out,omitempty" label:"longer than the timeout" is:"Whether the command took longer than --timeout."`
	Killed         int                `json:"killed,omitempty" figure:"count" is:"The processes that were still running at its end and were killed."`
	ServerSeconds  *float64           `json:"server_seconds,omitempty" figure:"s" label:"CPU time of the server" is:"The CPU time of the program that --with-pid or --with-cgroup names, during the sample."`
	Dedicated      *result.Dedicated  `json:"dedicated,omitempty"` // of --dedicate
	Migrations     *result.Migrations `json:"migrations,omitempty" figure:",hidden" group:"Migrations"`
	*Several                          // of copies
}

// Several are the figures of copies of a command that ran at the same time. The sample's seconds are those from their common start to the
// end of the last, and its other figures are sums; --metric is the mean of the copies' figures.
type Several struct {
	Copies        int      `json:"copies" figure:"count,verbose" is:"The copies of the command that ran at the same time."`
	MeanSeconds   float64  `json:"mean_seconds" figure:"s,lower" label:"mean of the copies" is:"The mean of the copies' wall times."`
	Throughput    float64  `json:"copies_per_second" figure:"1/s,higher" label:"copies a second" is:"The copies over the wall time of the last."`
	CPUPerCopy    float64  `json:"cpu_seconds_per_copy" figure:"s,lower" label:"CPU time of a copy" is:"The mean CPU time of a copy."`
	QueuedPerCopy *float64 `json:"queued_seconds_per_copy,omitempty" figure:"s,lower" label:"a copy waits for a CPU" is:"The mean time in which the first thread of a copy was ready to run and had no CPU."`

	Processes []CopyFigures `json:"processes"` // in the order of the copies
}

// CopyFigures are the figures of a copy.
type CopyFigures struct {
	Copy          int      `json:"copy"` // its number, from 0
	PID           int      `json:"pid"`
	CPUs          string   `json:"cpus,omitempty"` // that it was given; "": as inherited
	ExitCode      int      `json:"exit_code"`
	Seconds       float64  `json:"seconds"` // wall time
	UserSeconds   float64  `json:"user_seconds"`
	SystemSeconds float64  `json:"system_seconds"`
	QueuedSeconds *float64 `json:"queued_seconds,omitempty"` // of its first thread: ready to run, without a CPU
	MaxRSSBytes   uint64   `json:"max_rss_bytes"`
	Metric        *float64 `json:"metric,omitempty"` // of the first --metric
}

var (
	columns = column.Join(column.TimeP(), column.List{cpuShare}, column.Of[Figures]().After("killed",
		column.Join(column.Faults, column.Switches.With(func(c *column.Column) { c.Verbose = false }))...))
	peakMemory = columns.Get(result.MaxRSS)
	cpuPerCopy = columns.Get("cpu_seconds_per_copy")
)

// cpuShare is the CPU time over the wall time.
var cpuShare = column.Derived(column.Column{
	Name: "cpu_share", Label: "of a CPU", Unit: column.Share, Meaning: "The CPU time over the wall time.",
}, func(s *result.Sample) *float64 {
	if s.Seconds <= 0 {
		return nil
	}
	return new(s.CPUSeconds() / s.Seconds)
})

// metrics returns where the command's own figures are kept, in the order of --metric.
func (f *Figures) metrics() [experiment.MostMetrics]**float64 {
	return [...]**float64{&f.Metric, &f.Metric2, &f.Metric3, &f.Metric4}
}
