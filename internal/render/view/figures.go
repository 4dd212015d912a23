package view

import (
	"slices"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/units"
)

// figure is a row of the block of a run's figures.
type figure struct {
	label string
	value string // the value it shows, by name; "" where of gets something else
	show  func(x float64) string
	of    func(s *result.Sample) (float64, bool) // nil: the value
}

// figures are the rows that have a label of their own, in order. A row that no sample has is left out.
var figures = [...]figure{
	{"primes", "primes", units.Count, nil},
	{"wall", "", units.Seconds, wallSeconds},
	{"user", "", units.Seconds, func(s *result.Sample) (float64, bool) { return s.UserSeconds, true }},
	{"system", "", units.Seconds, func(s *result.Sample) (float64, bool) { return s.SystemSeconds, true }},
	{"CPU utilisation", "cpu_utilisation", units.Percent, nil},
	{"speed-up", "speedup", units.Ratio, nil},
	{"trials", "trials", units.Large, nil},
	{"trials a second", "trials_per_second", units.Large, nil},
	{"passes", "passes", units.Count, morePasses},
	{"threads at the peak", "threads_peak", units.Count, nil},
	{"memory at the peak", "memory_peak_bytes", func(x float64) string { return units.Bytes(uint64(x)) }, nil},
	{"migrations of threads", "", units.Count, counter(func(s *result.Signals) *uint64 { return s.Migrations })},
	{"switches, voluntary", "", units.Count, counter(func(s *result.Signals) *uint64 { return s.VoluntarySwitches })},
	{"switches, involuntary", "", units.Count, counter(func(s *result.Signals) *uint64 { return s.InvoluntarySwitches })},
	{"workers that changed CPU", "", units.Count, pool(func(w *result.Workers) *int { return &w.ChangedCPU })},
	{"workers that changed thread", "", units.Count, pool(func(w *result.Workers) *int { return w.ChangedThread })},
	{"workers off their CPU", "", units.Count, pool(func(w *result.Workers) *int { return w.OffCPU })},
	{"slowest worker over the mean", "", units.Ratio, workerImbalance},
	{"busiest CPU over the mean", "cpu_imbalance", units.Ratio, nil},
}

// toldElsewhere are the values that the heading shows.
var toldElsewhere = []string{"numbers", "workers", "kernel"}

// FiguresBlock shows each figure: its median over the samples and, where they differ, the range. Numbers among the
// values that have no row of their own follow by name, so that no experiment's figure is lost.
func FiguresBlock(samples []result.Sample) string {
	rows := slices.Clone(figures[:])
	known := slices.Clone(toldElsewhere)
	for _, row := range rows {
		known = append(known, row.value)
	}
	for _, name := range ValueNames(samples) {
		if !slices.Contains(known, name) {
			rows = append(rows, otherFigure(name))
		}
	}

	var lines [][]string
	for _, row := range rows {
		if row.of == nil {
			row.of = Value(row.value)
		}
		s, ok := spreadOf(samples, row.of)
		if !ok {
			continue
		}
		line := []string{row.label, row.show(s.Median), ""}
		if low, high := row.show(s.Least), row.show(s.Greatest); low != high {
			line[2] = low + " … " + high
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return ""
	}
	return term.Grid([]term.Column{term.Left(""), term.Right(""), term.Left("")}, lines)
}

// otherFigure shows a value under its own name, in the unit that the name ends in.
func otherFigure(name string) figure {
	row := figure{value: name, show: units.Large}
	if trimmed, timed := strings.CutSuffix(name, "_seconds"); timed {
		name, row.show = trimmed, units.Seconds
	} else if trimmed, timed := strings.CutSuffix(name, "_ns"); timed {
		name, row.show = trimmed, func(x float64) string { return units.Seconds(x / 1e9) }
	}
	row.label = strings.ReplaceAll(name, "_", " ")
	return row
}

func wallSeconds(s *result.Sample) (float64, bool) { return s.Seconds, true }

// morePasses gets the repetitions of the work, where there was more than the one that everybody expects.
func morePasses(s *result.Sample) (float64, bool) {
	passes, ok := s.Values.Number("passes")
	return passes, ok && passes > 1
}

// pool gets a count of the workers' summary.
func pool(of func(w *result.Workers) *int) func(s *result.Sample) (float64, bool) {
	return func(s *result.Sample) (float64, bool) {
		if s.Workers == nil {
			return 0, false
		}
		n := of(s.Workers)
		if n == nil {
			return 0, false
		}
		return float64(*n), true
	}
}

func workerImbalance(s *result.Sample) (float64, bool) {
	if s.Workers == nil || s.Workers.Count == 0 {
		return 0, false
	}
	return s.Workers.Imbalance, true
}
