package metrics

import (
	"fmt"
	"strconv"

	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// Prefix is the prefix of the name of every family.
const Prefix = "gorun_"

// MaxCells is the maximum number of cells with their own series: the first ones. The others are counted in
// gorun_cells_other, and all cells in gorun_cells.
const MaxCells = 100

// Type is the type of a family's figures, or of a series of an endpoint; "": it is not known.
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
	result.State
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
	one("finished", Gauge, "1 when the run is over and only its figures are still served, else 0.", func(r reading) *float64 {
		if r.Finished {
			return new(1.0)
		}
		return new(0.0)
	}),
	one("elapsed_seconds", Gauge, "Elapsed time of the run, including the time before a resume.",
		func(r reading) *float64 { return &r.Elapsed }),
	one("remaining_seconds", Gauge, "Upper bound of the remaining time of the run; absent while it is not known.",
		func(r reading) *float64 { return r.Left }),
	one("budget_seconds", Gauge, "Time after which no sample begins; absent without a budget.",
		func(r reading) *float64 { return positive(r.Extent.Budget) }),
	one("cpus", Gauge, "CPUs that the run may use.", func(r reading) *float64 { return positive(r.RunCPUs) }),
	one("threads", Gauge, "OS threads of the working process.", func(r reading) *float64 { return positive(r.Threads) }),

	// Its samples.
	one("samples_planned", Gauge, "Samples that the run will measure; absent if it is open-ended.",
		func(r reading) *float64 { return positive(r.Extent.Samples) }),
	one("samples_completed_total", Counter, "Samples that were measured.",
		func(r reading) *float64 { return new(float64(r.Totals.Samples)) }),
	each("samples_judged_total", Counter, "verdict", "Samples by the verdict on their quality.", func(r reading, put put) {
		for _, grade := range result.Grades {
			put(float64(r.Totals.Grades[grade]), string(grade))
		}
	}),
	{
		Name: "sample_duration_seconds", Type: Histogram, Help: "Wall time of a sample.",
		histogram: func(r reading) *result.Histogram { return &r.Totals.Seconds },
	},

	// What disturbed them.
	one("watched_seconds_total", Counter, "Wall time over which disturbances were counted.",
		func(r reading) *float64 { return &r.Totals.Watched }),
	one("steal_seconds_total", Counter, "CPU time that the hypervisor took during samples.",
		func(r reading) *float64 { return r.Totals.Steal }),
	one("throttled_seconds_total", Counter, "Time that the cgroup's CPU quota stopped threads during samples.",
		func(r reading) *float64 { return r.Totals.Throttled }),
	one("run_queue_seconds_total", Counter, "Time that threads were runnable and waited for a CPU during samples.",
		func(r reading) *float64 { return r.Totals.RunQueue }),
	one("cpu_pressure_seconds_total", Counter, "Time in which something on the machine waited for a CPU (PSI) during samples.",
		func(r reading) *float64 { return r.Totals.Pressure }),
	each("context_switches_total", Counter, "type", "Context switches of the threads.", func(r reading, put put) {
		put(float64(r.VoluntarySwitches), "voluntary")
		put(float64(r.InvoluntarySwitches), "involuntary")
	}),
	each("migrations_total", Counter, "relation",
		"Moves of threads between CPUs during samples, by what the two share; unknown where only their number was counted.",
		func(r reading, put put) {
			for relation, n := range r.Totals.Migrations {
				put(float64(n), relation)
			}
		}),
	each("page_faults_total", Counter, "type", "Page faults during samples; major ones read from a disk.", func(r reading, put put) {
		known(put, r.Totals.MinorFaults, "minor")
		known(put, r.Totals.MajorFaults, "major")
	}),

	// What the workers do.
	one("numbers_tested_total", Counter, "Numbers tested for primality.",
		func(r reading) *float64 { return r.counted(r.NumbersTested) }),
	one("primes_found_total", Counter, "Primes found.", func(r reading) *float64 { return r.counted(r.PrimesFound) }),
	one("workers_started_total", Counter, "Workers that began their share.",
		func(r reading) *float64 { return r.counted(r.WorkersStarted) }),
	one("workers_finished_total", Counter, "Workers that finished their share.",
		func(r reading) *float64 { return r.counted(r.WorkersFinished) }),
	{
		Name: "worker_duration_seconds", Type: Histogram,
		Help:      "Wall time of a worker from its first number to its last.",
		histogram: func(r reading) *result.Histogram { return r.WorkerSeconds },
	},
	each("cpu_busy_seconds_total", Counter, "cpu", "Wall time with a worker, a thread of a row, or the probe on the CPU.",
		func(r reading, put put) {
			for _, cpu := range r.CPUs {
				put(cpu.BusySeconds, strconv.Itoa(cpu.CPU))
			}
		}),
	each("cpu_workers_total", Counter, "cpu", "Workers that finished on the CPU.", func(r reading, put put) {
		for _, cpu := range r.CPUs {
			put(float64(cpu.Workers), strconv.Itoa(cpu.CPU))
		}
	}),

	// The load during numa's probe.
	one("load_requested_ratio", Gauge, "Requested load on each CPU; 1 is the whole CPU.", func(r reading) *float64 {
		if r.Totals.Load == nil {
			return nil
		}
		return new(r.Totals.Load.Requested / 100)
	}),
	each("load_achieved_ratio", Gauge, "cpu", "Load on the CPU during the last sample.", func(r reading, put put) {
		if load := r.Totals.Load; load != nil {
			for _, cpu := range load.CPUs {
				put(cpu.Achieved/100, strconv.Itoa(cpu.CPU))
			}
		}
	}),

	// The present state of the cells of a matrix, or the rows of numa.
	each("cells", Gauge, "verdict", "Cells by their verdict so far; the baseline has none.", func(r reading, put put) {
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
	}),
	one("cells_open", Gauge, "Cells that are still sampled.", func(r reading) *float64 {
		if r.Interim == nil {
			return nil
		}
		open := 0.0
		for _, cell := range r.Interim.Cells {
			if cell.Open {
				open++
			}
		}
		return &open
	}),
	one("cells_other", Gauge, fmt.Sprintf("Cells beyond the first %d, which do not have their own series.", MaxCells),
		func(r reading) *float64 {
			if r.Interim == nil {
				return nil
			}
			return new(float64(max(0, len(r.Interim.Cells)-MaxCells)))
		}),
	cells("cell_median_seconds", "Median of the compared time: the wall time of a sample, or of an operation or access.",
		func(c result.InterimCell) *float64 { return positive(c.Seconds) }),
	cells("cell_rounds", "Rounds in which the cell was compared with the baseline.", func(c result.InterimCell) *float64 {
		if c.Baseline || c.Verdict.Kind == stats.Invalid {
			return nil
		}
		return new(float64(c.Verdict.Rounds))
	}),
	effects("cell_ratio", "Typical ratio to the baseline; above 1 is slower.", ratio),
	effects("cell_ratio_lower", "Lower end of the interval that holds the ratio.", lower),
	effects("cell_ratio_upper", "Upper end of the interval that holds the ratio.", upper),
	effects("cell_interval_width_ratio", "Upper end of the interval over the lower one, less 1: the limit is --precision.",
		func(e stats.Effect) float64 { return e.Hi/e.Lo - 1 }),

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
	otherEffects("cell_figure_ratio",
		"Typical ratio to the baseline of a figure that does not decide when the run stops; above 1 is slower, or more.", ratio),
	otherEffects("cell_figure_ratio_lower", "Lower end of the interval that holds the ratio of that figure.", lower),
	otherEffects("cell_figure_ratio_upper", "Upper end of the interval that holds the ratio of that figure.", upper),
}

// one makes a family of one series, which is absent while its figure is nil.
func one(name string, kind Type, help string, figure func(r reading) *float64) Family {
	return Family{Name: name, Type: kind, Help: help, figures: func(r reading, put put) { known(put, figure(r)) }}
}

// each makes a family with a series for each value of a label.
func each(name string, kind Type, label, help string, figures func(r reading, put put)) Family {
	return Family{Name: name, Type: kind, Labels: []string{label}, Help: help, figures: figures}
}

// cells makes a family with a series for each of the first cells whose figure is not nil.
func cells(name, help string, figure func(c result.InterimCell) *float64) Family {
	return each(name, Gauge, "cell", help, func(r reading, put put) {
		for _, cell := range r.firstCells() {
			known(put, figure(cell), cell.Name)
		}
	})
}

// effects makes a family of the known effects on the deciding figure.
func effects(name, help string, figure func(e stats.Effect) float64) Family {
	return cells(name, help, func(c result.InterimCell) *float64 {
		if c.Baseline || !bounded(c.Verdict) {
			return nil
		}
		return new(figure(c.Verdict.Typical))
	})
}

// otherEffects makes a family of the known effects on other figures.
func otherEffects(name, help string, figure func(e stats.Effect) float64) Family {
	return Family{Name: name, Type: Gauge, Labels: []string{"cell", "figure"}, Help: help, figures: func(r reading, put put) {
		for _, cell := range r.firstCells() {
			for of, v := range cell.Verdicts {
				if bounded(v) {
					put(figure(v.Typical), cell.Name, of)
				}
			}
		}
	}}
}

func bounded(v stats.Verdict) bool { return v.Kind != stats.Invalid && v.Typical.Bounded() }

func ratio(e stats.Effect) float64 { return e.Ratio }
func lower(e stats.Effect) float64 { return e.Lo }
func upper(e stats.Effect) float64 { return e.Hi }

// firstCells returns the cells that have their own series.
func (r reading) firstCells() []result.InterimCell {
	if r.Interim == nil {
		return nil
	}
	return r.Interim.Cells[:min(MaxCells, len(r.Interim.Cells))]
}

// counted returns the work done by workers; nil if the run has none.
func (r reading) counted(n uint64) *float64 {
	if r.WorkerSeconds == nil && n == 0 {
		return nil
	}
	return new(float64(n))
}

// known puts a figure if it is known.
func known[N float64 | uint64](put put, figure *N, labels ...string) {
	if figure != nil {
		put(float64(*figure), labels...)
	}
}

// positive returns a figure; nil if it is 0, which means not known, or no limit.
func positive[N float64 | int](figure N) *float64 {
	if figure > 0 {
		return new(float64(figure))
	}
	return nil
}
