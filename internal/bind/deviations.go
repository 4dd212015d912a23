package bind

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/result"
)

// deviationCounts are what the bound processes of a run saw, or the unbound ones, of where they were.
type deviationCounts struct {
	total   uint64
	strayed uint64 // those that were a deviation
	moved   map[string]uint64
	strays  int // processes that deviated
	took    int // processes
}

func countDeviations(samples []result.Sample, bound bool) deviationCounts {
	l := deviationCounts{moved: map[string]uint64{}}
	for _, s := range samples {
		v, ok := result.Typed[Figures](&s)
		if !ok || v.Bound != bound {
			continue
		}
		l.total += v.Checks
		l.strayed += v.Deviations
		for _, p := range v.Processes {
			l.took++
			if p.Deviations > 0 {
				l.strays++
			}
			for cpu, count := range p.MovedTo {
				l.moved[cpu] += count
			}
		}
	}
	return l
}

// Deviations are what the samples of a run of `gorun bind` say of where the processes were.
func Deviations(samples []result.Sample) []result.Finding {
	found := []result.Finding{}
	for cell, f := range [...]finding{
		Unbound: {
			code: "deviations-unbound", none: "Unbound, every process was on the CPU of the look before",
			some: "Unbound, a process was on another CPU than at the look before", where: "to",
		},
		Bound: {
			code: "deviations-bound", none: "Bound, every process was on its CPU", some: "Bound, a process was not on its CPU",
			where: "on",
		},
	} {
		if looks := countDeviations(samples, cell == Bound); looks.total > 0 {
			found = append(found, f.of(looks))
		}
	}
	return found
}

// finding says how often processes were found elsewhere, and where.
type finding struct{ code, none, some, where string }

func (f finding) of(l deviationCounts) result.Finding {
	text := fmt.Sprintf("%s, in all of %d looks.", f.none, l.total)
	if l.strayed > 0 {
		text = fmt.Sprintf("%s in %d of %d looks, %d of %d processes at least once: %s.", f.some, l.strayed, l.total, l.strays,
			l.took, l.places(f.where))
	}
	return result.Finding{Code: f.code, Message: text, Value: float64(l.strayed)}
}

// mostPlaces limits the listed CPUs, the most frequent first.
const mostPlaces = 8

func (l deviationCounts) places(where string) string {
	cpus := slices.SortedFunc(maps.Keys(l.moved), func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return cmp.Or(cmp.Compare(l.moved[b], l.moved[a]), cmp.Compare(x, y))
	})
	var words []string
	for _, cpu := range cpus[:min(len(cpus), mostPlaces)] {
		words = append(words, fmt.Sprintf("%d %s CPU %s", l.moved[cpu], where, cpu))
	}
	if more := len(cpus) - mostPlaces; more > 0 {
		words = append(words, fmt.Sprintf("the others %s %d more CPUs", where, more))
	}
	return strings.Join(words, ", ")
}
