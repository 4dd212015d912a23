package bind

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorun/internal/record/result"
)

// deviationCounts sums the checks of a run's bound or unbound processes.
type deviationCounts struct {
	checks     uint64
	deviations uint64 // checks that found a deviation
	moved      map[int]uint64
	deviated   int // processes with a deviation
	processes  int // all processes
}

func countDeviations(samples []result.Sample, bound bool) deviationCounts {
	l := deviationCounts{moved: map[int]uint64{}}
	for _, s := range samples {
		v, ok := result.Typed[Figures](&s)
		if !ok || v.Bound != bound {
			continue
		}
		l.checks += v.Checks
		l.deviations += v.Deviations
		for _, p := range v.Processes {
			l.processes++
			if p.Deviations > 0 {
				l.deviated++
			}
			for cpu, count := range p.MovedTo {
				l.moved[cpu] += count
			}
		}
	}
	return l
}

// Deviations returns findings about where the processes of a run of `gorun bind` ran.
func Deviations(samples []result.Sample) []result.Finding {
	found := []result.Finding{}
	for cell, f := range [...]finding{
		Unbound: {
			code: "deviations-unbound", none: "Unbound, every process stayed on its CPU",
			some: "Unbound, a process was on another CPU than at the previous check", where: "to",
		},
		Bound: {
			code: "deviations-bound", none: "Bound, every process was on its CPU", some: "Bound, a process was not on its CPU",
			where: "on",
		},
	} {
		if c := countDeviations(samples, cell == Bound); c.checks > 0 {
			found = append(found, f.result(c))
		}
	}
	return found
}

// finding describes the frequency and the CPUs of deviations.
type finding struct{ code, none, some, where string }

func (f finding) result(l deviationCounts) result.Finding {
	text := fmt.Sprintf("%s, in all of %d checks.", f.none, l.checks)
	if l.deviations > 0 {
		text = fmt.Sprintf("%s in %d of %d checks, %d of %d processes at least once: %s.", f.some, l.deviations, l.checks, l.deviated,
			l.processes, l.places(f.where))
	}
	return result.Finding{Code: f.code, Message: text, Value: float64(l.deviations)}
}

// mostPlaces is the number of CPUs listed, the most frequent first.
const mostPlaces = 8

func (l deviationCounts) places(where string) string {
	cpus := slices.SortedFunc(maps.Keys(l.moved), func(a, b int) int {
		return cmp.Or(cmp.Compare(l.moved[b], l.moved[a]), cmp.Compare(a, b))
	})
	var words []string
	for _, cpu := range cpus[:min(len(cpus), mostPlaces)] {
		words = append(words, fmt.Sprintf("%d %s CPU %d", l.moved[cpu], where, cpu))
	}
	if more := len(cpus) - mostPlaces; more > 0 {
		words = append(words, fmt.Sprintf("the others %s %d more CPUs", where, more))
	}
	return strings.Join(words, ", ")
}
