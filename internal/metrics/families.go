package metrics

import (
	"fmt"
	"strconv"

	"gorun/internal/result"
	"gorun/internal/stats"
)

// Prefix is the prefix of the name of every family.
const Prefix = "gorun_"

// MaxCells is the maximum number of cells with their own series: the first ones. The others are counted in
// gorun_cells_other, and all cells in gorun_cells.
const MaxCells = 100

// Type is the type of a family's figures.
type Type string

// The types of families.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram" // classic buckets and native ones
)

// Family is a metric name with its series. A figure that the run does not have has no series.
type Family struct {
	Name   string // without the Prefix
	Type   Type
	Labels []string
	Help   string

	figures   func(r reading, put put)
	histogram func(r reading) *result.Histogram // of a Histogram; nil: the run has none
}

// reading is the state of the run at one moment.
type reading struct {
	result.Live
	info Info
}

// put makes a series of a figure and the values of its labels.
type put func(figure float64, labels ...string)

// Families lists all metrics that gorun exports. To add one, add its row.
var Families = [...]Family{
	// The run and its progress.
	{
		Name: "run_info", Type: Gauge, Help: "Description of the run; the value is always 1.",
		Labels: []string{"experiment", "version", "method", "method_kernel", "dispatch", "split", "placement"},
		figures: func(r reading, put put) {
			i := r.info
			put(1, i.Experiment, i.Version, i.Method, i.Kernel, i.Dispatch, i.Split, i.Placement)
		},
	},
	{
		Name: "finished", Type: Gauge,
		Help:    "1 when the run is over and only its figures are still served, else 0.",
		figures: func(r reading, put put) { put(truth(r.Finished)) },
	},
	{
		Name: "elapsed_seconds", Type: Gauge, Help: "Elapsed time of the run, including the time before a resume.",
		figures: func(r reading, put put) { put(r.Elapsed) },
	},
	{
		Name: "remaining_seconds", Type: Gauge,
		Help:    "Upper bound of the remaining time of the run; absent while it is not known.",
		figures: func(r reading, put put) { known(put, r.Left) },
	},
	{
		Name: "budget_seconds", Type: Gauge, Help: "Time after which no sample begins; absent without a budget.",
		figures: func(r reading, put put) { positive(put, r.Extent.Budget) },
	},
	{
		Name: "cpus", Type: Gauge, Help: "CPUs that the run may use.",
		figures: func(r reading, put put) { positive(put, float64(r.RunCPUs)) },
	},
	{
		Name: "threads", Type: Gauge, Help: "OS threads of the working process.",
		figures: func(r reading, put put) { positive(put, float64(r.Threads)) },
	},

	// Its samples.
	{
		Name: "samples_planned", Type: Gauge,
		Help:    "Samples that the run will measure; absent if it is open-ended.",
		figures: func(r reading, put put) { positive(put, float64(r.Extent.Samples)) },
	},
	{
		Name: "samples_completed_total", Type: Counter, Help: "Samples that were measured.",
		figures: func(r reading, put put) { put(float64(r.Totals.Samples)) },
	},
	{
		Name: "samples_judged_total", Type: Counter, Labels: []string{"verdict"},
		Help: "Samples by the verdict on their quality.",
		figures: func(r reading, put put) {
			for _, verdict := range result.Verdicts {
				put(float64(r.Totals.Verdicts[verdict]), string(verdict))
			}
		},
	},
	{
		Name: "sample_duration_seconds", Type: Histogram, Help: "Wall time of a sample.",
		histogram: func(r reading) *result.Histogram { return &r.Totals.Seconds },
	},

	// What disturbed them.
	{
		Name: "watched_seconds_total", Type: Counter, Help: "Wall time over which disturbances were counted.",
		figures: func(r reading, put put) { put(r.Totals.Watched) },
	},
	{
		Name: "steal_seconds_total", Type: Counter, Help: "CPU time that the hypervisor took during samples.",
		figures: func(r reading, put put) { known(put, r.Totals.Steal) },
	},
	{
		Name: "throttled_seconds_total", Type: Counter,
		Help:    "Time that the cgroup's CPU quota stopped threads during samples.",
		figures: func(r reading, put put) { known(put, r.Totals.Throttled) },
	},
	{
		Name: "run_queue_seconds_total", Type: Counter,
		Help:    "Time that threads were runnable and waited for a CPU during samples.",
		figures: func(r reading, put put) { known(put, r.Totals.RunQueue) },
	},
	{
		Name: "cpu_pressure_seconds_total", Type: Counter,
		Help:    "Time in which something on the machine waited for a CPU (PSI) during samples.",
		figures: func(r reading, put put) { known(put, r.Totals.Pressure) },
	},
	{
		Name: "context_switches_total", Type: Counter, Labels: []string{"type"},
		Help: "Context switches of the threads.",
		figures: func(r reading, put put) {
			put(float64(r.VoluntarySwitches), "voluntary")
			put(float64(r.InvoluntarySwitches), "involuntary")
		},
	},
	{
		Name: "migrations_total", Type: Counter, Labels: []string{"relation"},
		Help: "Moves of threads between CPUs during samples, by what the two share; unknown where only their number was counted.",
		figures: func(r reading, put put) {
			for relation, n := range r.Totals.Migrations {
				put(float64(n), relation)
			}
		},
	},
	{
		Name: "page_faults_total", Type: Counter, Labels: []string{"type"},
		Help: "Page faults during samples; major ones read from a disk.",
		figures: func(r reading, put put) {
			known(put, r.Totals.MinorFaults, "minor")
			known(put, r.Totals.MajorFaults, "major")
		},
	},

	// What the workers do.
	{
		Name: "numbers_tested_total", Type: Counter, Help: "Numbers tested for primality.",
		figures: func(r reading, put put) { r.counted(put, r.NumbersTested) },
	},
	{
		Name: "primes_found_total", Type: Counter, Help: "Primes found.",
		figures: func(r reading, put put) { r.counted(put, r.PrimesFound) },
	},
	{
		Name: "workers_started_total", Type: Counter, Help: "Workers that began their share.",
		figures: func(r reading, put put) { r.counted(put, r.WorkersStarted) },
	},
	{
		Name: "workers_finished_total", Type: Counter, Help: "Workers that finished their share.",
		figures: func(r reading, put put) { r.counted(put, r.WorkersFinished) },
	},
	{
		Name: "worker_duration_seconds", Type: Histogram,
		Help:      "Wall time of a worker from its first number to its last.",
		histogram: func(r reading) *result.Histogram { return r.WorkerSeconds },
	},
	{
		Name: "cpu_busy_seconds_total", Type: Counter, Labels: []string{"cpu"},
		Help: "Wall time with a worker, a thread of a row, or the probe on the CPU.",
		figures: func(r reading, put put) {
			for _, cpu := range r.CPUs {
				put(cpu.BusySeconds, strconv.Itoa(cpu.CPU))
			}
		},
	},
	{
		Name: "cpu_workers_total", Type: Counter, Labels: []string{"cpu"},
		Help: "Workers that finished on the CPU.",
		figures: func(r reading, put put) {
			for _, cpu := range r.CPUs {
				put(float64(cpu.Workers), strconv.Itoa(cpu.CPU))
			}
		},
	},

	// The load during numa's probe.
	{
		Name: "load_requested_ratio", Type: Gauge, Help: "Requested load on each CPU; 1 is the whole CPU.",
		figures: func(r reading, put put) {
			if load := r.Totals.Load; load != nil {
				put(load.Requested / 100)
			}
		},
	},
	{
		Name: "load_achieved_ratio", Type: Gauge, Labels: []string{"cpu"},
		Help: "Load on the CPU during the last sample.",
		figures: func(r reading, put put) {
			if load := r.Totals.Load; load != nil {
				for _, cpu := range load.CPUs {
					put(cpu.Achieved/100, strconv.Itoa(cpu.CPU))
				}
			}
		},
	},

	// The present state of the cells of a matrix, or the rows of numa.
	{
		Name: "cells", Type: Gauge, Labels: []string{"verdict"},
		Help: "Cells by their verdict so far; the baseline has none.",
		figures: func(r reading, put put) {
			if r.Interim == nil {
				return
			}
			count := map[stats.Kind]int{}
			for _, cell := range r.Interim.Cells {
				if !cell.Baseline {
					count[cell.Verdict.Kind]++
				}
			}
			for _, kind := range stats.Kinds {
				put(float64(count[kind]), string(kind))
			}
		},
	},
	{
		Name: "cells_open", Type: Gauge, Help: "Cells that are still sampled.",
		figures: func(r reading, put put) {
			if r.Interim == nil {
				return
			}
			open := 0
			for _, cell := range r.Interim.Cells {
				if cell.Open {
					open++
				}
			}
			put(float64(open))
		},
	},
	{
		Name: "cells_other", Type: Gauge,
		Help: fmt.Sprintf("Cells beyond the first %d, which do not have their own series.", MaxCells),
		figures: func(r reading, put put) {
			if r.Interim != nil {
				put(float64(max(0, len(r.Interim.Cells)-MaxCells)))
			}
		},
	},
	{
		Name: "cell_median_seconds", Type: Gauge, Labels: []string{"cell"},
		Help: "Median of the compared time: the wall time of a sample, or of an operation or access.",
		figures: func(r reading, put put) {
			r.cells(func(name string, c result.InterimCell, _ bool) { positive(put, c.Seconds, name) })
		},
	},
	{
		Name: "cell_rounds", Type: Gauge, Labels: []string{"cell"},
		Help: "Rounds in which the cell was compared with the baseline.",
		figures: func(r reading, put put) {
			r.compared(func(name string, v stats.Verdict) { put(float64(v.Rounds), name) })
		},
	},
	{
		Name: "cell_ratio", Type: Gauge, Labels: []string{"cell"},
		Help: "Typical ratio to the baseline; above 1 is slower.",
		figures: func(r reading, put put) {
			r.bounded(func(name string, e stats.Effect) { put(e.Ratio, name) })
		},
	},
	{
		Name: "cell_ratio_lower", Type: Gauge, Labels: []string{"cell"},
		Help: "Lower end of the interval that holds the ratio.",
		figures: func(r reading, put put) {
			r.bounded(func(name string, e stats.Effect) { put(e.Lo, name) })
		},
	},
	{
		Name: "cell_ratio_upper", Type: Gauge, Labels: []string{"cell"},
		Help: "Upper end of the interval that holds the ratio.",
		figures: func(r reading, put put) {
			r.bounded(func(name string, e stats.Effect) { put(e.Hi, name) })
		},
	},
	{
		Name: "cell_interval_width_ratio", Type: Gauge, Labels: []string{"cell"},
		Help: "Upper end of the interval over the lower one, less 1: the limit is --precision.",
		figures: func(r reading, put put) {
			r.bounded(func(name string, e stats.Effect) { put(e.Hi/e.Lo-1, name) })
		},
	},

	// The figures that are judged in addition to the one that decides when the run stops, such as CPU time.
	{
		Name: "cells_by_figure", Type: Gauge, Labels: []string{"figure", "verdict"},
		Help: "Cells by their verdict so far on a figure that does not decide when the run stops, such as cpu_seconds.",
		figures: func(r reading, put put) {
			if r.Interim == nil {
				return
			}
			count := map[string]map[stats.Kind]int{}
			for _, cell := range r.Interim.Cells {
				for figure, v := range cell.Verdicts {
					if count[figure] == nil {
						count[figure] = map[stats.Kind]int{}
					}
					count[figure][v.Kind]++
				}
			}
			for figure, of := range count {
				for _, kind := range stats.Kinds {
					put(float64(of[kind]), figure, string(kind))
				}
			}
		},
	},
	{
		Name: "cell_figure_ratio", Type: Gauge, Labels: []string{"cell", "figure"},
		Help: "Typical ratio to the baseline of a figure that does not decide when the run stops; above 1 is slower, or more.",
		figures: func(r reading, put put) {
			r.figured(func(name, figure string, e stats.Effect) { put(e.Ratio, name, figure) })
		},
	},
	{
		Name: "cell_figure_ratio_lower", Type: Gauge, Labels: []string{"cell", "figure"},
		Help: "Lower end of the interval that holds the ratio of that figure.",
		figures: func(r reading, put put) {
			r.figured(func(name, figure string, e stats.Effect) { put(e.Lo, name, figure) })
		},
	},
	{
		Name: "cell_figure_ratio_upper", Type: Gauge, Labels: []string{"cell", "figure"},
		Help: "Upper end of the interval that holds the ratio of that figure.",
		figures: func(r reading, put put) {
			r.figured(func(name, figure string, e stats.Effect) { put(e.Hi, name, figure) })
		},
	},
}

// counted puts the work done by workers, unless the run has none.
func (r reading) counted(put put, n uint64) {
	if r.WorkerSeconds != nil || n > 0 {
		put(float64(n))
	}
}

// cells gives each of the first cells and the value of its label.
func (r reading) cells(each func(name string, c result.InterimCell, baseline bool)) {
	if r.Interim == nil {
		return
	}
	for i, cell := range r.Interim.Cells {
		if i == MaxCells {
			break
		}
		each(cell.Name, cell, cell.Baseline)
	}
}

// compared gives the verdicts of the cells that are compared.
func (r reading) compared(each func(name string, v stats.Verdict)) {
	r.cells(func(name string, c result.InterimCell, baseline bool) {
		if !baseline && c.Verdict.Kind != stats.Invalid {
			each(name, c.Verdict)
		}
	})
}

// bounded gives the effects with known values.
func (r reading) bounded(each func(name string, e stats.Effect)) {
	r.compared(func(name string, v stats.Verdict) {
		if v.Typical.Bounded() {
			each(name, v.Typical)
		}
	})
}

// figured gives the effects on other figures, if they are known.
func (r reading) figured(each func(name, figure string, e stats.Effect)) {
	r.cells(func(name string, c result.InterimCell, _ bool) {
		for figure, v := range c.Verdicts {
			if v.Kind != stats.Invalid && v.Typical.Bounded() {
				each(name, figure, v.Typical)
			}
		}
	})
}

// known puts a figure if it is known.
func known[N float64 | uint64](put put, figure *N, labels ...string) {
	if figure != nil {
		put(float64(*figure), labels...)
	}
}

// positive puts a figure for which 0 means not known, or no limit.
func positive(put put, figure float64, labels ...string) {
	if figure > 0 {
		put(figure, labels...)
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
