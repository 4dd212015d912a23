package bind

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorun/internal/record/result"
)

// findings describe where processes were: unbound, and bound.
var findings = [...]struct{ code, none, some, where string }{
	Unbound: {
		"deviations-unbound", "Unbound, every process stayed on its CPU", "Unbound, a process was on another CPU than at the previous check", "to",
	},
	Bound: {"deviations-bound", "Bound, every process was on its CPU", "Bound, a process was not on its CPU", "on"},
}

// deviations returns findings about where the processes of a run of `gorun bind` ran.
func deviations(samples result.Samples) []result.Finding {
	found := []result.Finding{}
	for cell, f := range findings {
		var checks, deviations uint64
		moved, processes, deviated := map[int]uint64{}, 0, 0
		for _, s := range samples.All() {
			v, ok := result.Typed[Figures](s)
			if !ok || v.Bound != (cell == Bound) {
				continue
			}
			checks, deviations, processes = checks+v.Checks, deviations+v.Deviations, processes+len(v.Processes)
			for _, p := range v.Processes {
				if p.Deviations > 0 {
					deviated++
				}
				for cpu, count := range p.MovedTo {
					moved[cpu] += count
				}
			}
		}
		text := fmt.Sprintf("%s, in all of %d checks.", f.none, checks)
		if deviations > 0 {
			text = fmt.Sprintf("%s in %d of %d checks, %d of %d processes at least once: %s.", f.some, deviations, checks, deviated,
				processes, places(moved, f.where))
		}
		if checks > 0 {
			found = append(found, result.Finding{Code: f.code, Message: text, Value: float64(deviations)})
		}
	}
	return found
}

// mostPlaces is the number of CPUs listed, the most frequent first.
const mostPlaces = 8

// places lists the CPUs that processes moved to.
func places(moved map[int]uint64, where string) string {
	cpus := slices.SortedFunc(maps.Keys(moved), func(a, b int) int {
		return cmp.Or(cmp.Compare(moved[b], moved[a]), cmp.Compare(a, b))
	})
	var words []string
	for _, cpu := range cpus[:min(len(cpus), mostPlaces)] {
		words = append(words, fmt.Sprintf("%d %s CPU %d", moved[cpu], where, cpu))
	}
	if more := len(cpus) - mostPlaces; more > 0 {
		words = append(words, fmt.Sprintf("the others %s %d more CPUs", where, more))
	}
	return strings.Join(words, ", ")
}
