package command

import (
	"fmt"

	"gorun/internal/column"
	"gorun/internal/result"
)

// PeakMemory returns the column of the peak memory in an experiment's figures.
func PeakMemory[F any](get func(*F) result.PeakRSS) column.Column {
	return column.Figure(column.Column{
		Name: result.MaxRSS, Label: "peak memory", Lead: 2, Unit: column.Bytes, Better: column.Lower, Bench: "peak-RSS-bytes",
		Meaning: "The greatest resident memory of any of its processes; absent where it is not above max_rss_floor_bytes.",
	}, func(f *F) *uint64 { return get(f).Known() })
}

var peakMemory = PeakMemory(func(e *result.Exec) result.PeakRSS { return e.PeakRSS })

var columns = column.Join(
	column.Times,
	moreMetrics(),
	column.List{
		column.Figure(column.Column{
			Name: "exit_code", Lead: 1, Meaning: "The exit code of the command: 128 and the signal's number, if that ended it.",
		}, func(e *result.Exec) int { return e.ExitCode }),
		peakMemory,
		column.Figure(column.Column{
			Name: result.DatumMetric, Lead: 3, Bench: "metric",
			Meaning: "The figure that --metric finds in the command's output.",
		}, func(e *result.Exec) *float64 { return e.Metric }),
		column.Figure(column.Column{Name: "signal", Meaning: "The signal that ended the command."},
			func(e *result.Exec) *int { return column.Some(e.Signal) }),
		column.Figure(column.Column{Name: "timed_out", Meaning: "Whether the command took longer than --timeout."},
			func(e *result.Exec) *bool { return column.Some(e.TimedOut) }),
		column.Figure(column.Column{
			Name: "max_rss_floor_bytes", Unit: column.Bytes,
			Meaning: "The memory of each process at its start, as a copy of gorun: a lower bound of max_rss_bytes.",
		}, func(e *result.Exec) uint64 { return e.MaxRSSFloorBytes }),
		column.Figure(column.Column{
			Name: "killed", Unit: column.Count, Meaning: "The processes that were still running at its end and were killed.",
		}, func(e *result.Exec) *int { return column.Some(e.Killed) }),
	},
	column.Switches,
	column.List{
		column.Figure(column.Column{Name: "dedicated_cpu", Meaning: "The CPU that the threads of other processes were moved off."},
			dedicated(func(d *result.Dedicated) int { return d.CPU })),
		column.Figure(column.Column{
			Name: "dedicated_processes", Unit: column.Count, Meaning: "The processes of which threads were moved off that CPU.",
		}, dedicated(func(d *result.Dedicated) int { return d.Processes })),
		column.Figure(column.Column{
			Name: "dedicated_threads", Unit: column.Count, Meaning: "The threads that were moved off that CPU.",
		}, dedicated(func(d *result.Dedicated) int { return d.Threads })),
		column.Figure(column.Column{
			Name: "dedicated_interrupts", Unit: column.Count, Meaning: "The interrupts that were moved off that CPU.",
		}, dedicated(func(d *result.Dedicated) int { return d.Interrupts })),
		column.Figure(column.Column{
			Name: "dedicated_changed", Unit: column.Count,
			Meaning: "The moved threads to which another program gave other CPUs meanwhile.",
		}, dedicated(func(d *result.Dedicated) int { return d.Changed })),
	},
	column.Migrations(func(e *result.Exec) *result.Migrations { return e.Migrations }),
)

// dedicated returns a getter of samples whose command had a CPU to itself.
func dedicated(of func(*result.Dedicated) int) func(*result.Exec) *int {
	return func(e *result.Exec) *int {
		if e.Dedicated == nil {
			return nil
		}
		n := of(e.Dedicated)
		return &n
	}
}

// mostMetrics limits the number of judged figures that a command prints: each one delays all verdicts.
var mostMetrics = len(new(result.Exec).Metrics())

// metricColumn returns the name of the column of a command's own figure.
func metricColumn(i int) string {
	if i == 0 {
		return result.DatumMetric
	}
	return fmt.Sprintf("%s_%d", result.DatumMetric, i+1)
}

// moreMetrics returns the columns of the second and later metrics.
func moreMetrics() (columns column.List) {
	for i := 1; i < mostMetrics; i++ {
		columns = append(columns, column.Figure(column.Column{
			Name: metricColumn(i), Bench: metricColumn(i),
			Meaning: fmt.Sprintf("The figure of the %s --metric in the command's output.",
				[...]string{"first", "second", "third", "fourth"}[i]),
		}, func(e *result.Exec) *float64 { return *e.Metrics()[i] }))
	}
	return columns
}
