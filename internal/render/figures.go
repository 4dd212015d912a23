package render

import (
	"slices"
	"strings"

	"gorun/internal/result"
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
	{"primes", "primes", count, nil},
	{"wall", "", seconds, wallSeconds},
	{"user", "", seconds, func(s *result.Sample) (float64, bool) { return s.UserSeconds, true }},
	{"system", "", seconds, func(s *result.Sample) (float64, bool) { return s.SystemSeconds, true }},
	{"CPU utilisation", "cpu_utilisation", percent, nil},
	{"speed-up", "speedup", ratio, nil},
	{"trials", "trials", large, nil},
	{"trials a second", "trials_per_second", large, nil},
	{"passes", "passes", count, morePasses},
	{"threads at the peak", "threads_peak", count, nil},
	{"memory at the peak", "memory_peak_bytes", func(x float64) string { return size(uint64(x)) }, nil},
	{"migrations of threads", "", count, counter(func(s *result.Signals) *uint64 { return s.Migrations })},
	{"switches, voluntary", "", count, counter(func(s *result.Signals) *uint64 { return s.VoluntarySwitches })},
	{"switches, involuntary", "", count, counter(func(s *result.Signals) *uint64 { return s.InvoluntarySwitches })},
	{"workers that changed CPU", "", count, pool(func(w *result.Workers) *int { return &w.ChangedCPU })},
	{"workers that changed thread", "", count, pool(func(w *result.Workers) *int { return w.ChangedThread })},
	{"workers off their CPU", "", count, pool(func(w *result.Workers) *int { return w.OffCPU })},
	{"slowest worker over the mean", "", ratio, workerImbalance},
	{"busiest CPU over the mean", "cpu_imbalance", ratio, nil},
}

// toldElsewhere are the values that the heading shows.
var toldElsewhere = []string{"numbers", "workers", "kernel"}

// figuresBlock shows each figure: its median over the samples and, where they differ, the range. Numbers among the
// values that have no row of their own follow by name, so that no experiment's figure is lost.
func figuresBlock(samples []result.Sample) string {
	rows := slices.Clone(figures[:])
	known := slices.Clone(toldElsewhere)
	for _, row := range rows {
		known = append(known, row.value)
	}
	for _, name := range valueNames(samples) {
		if !slices.Contains(known, name) {
			rows = append(rows, otherFigure(name))
		}
	}

	var lines [][]string
	for _, row := range rows {
		if row.of == nil {
			row.of = value(row.value)
		}
		s, ok := spreadOf(samples, row.of)
		if !ok {
			continue
		}
		line := []string{row.label, row.show(s.median), ""}
		if low, high := row.show(s.least), row.show(s.greatest); low != high {
			line[2] = low + " … " + high
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return ""
	}
	return grid([]column{left(""), right(""), left("")}, lines)
}

// otherFigure shows a value under its own name, in the unit that the name ends in.
func otherFigure(name string) figure {
	row := figure{value: name, show: large}
	if trimmed, timed := strings.CutSuffix(name, "_seconds"); timed {
		name, row.show = trimmed, seconds
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
