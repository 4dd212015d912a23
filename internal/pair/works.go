package pair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorun/csrc"
	"gorun/internal/cpuset"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// Works lists the works of a pair's processes, the default first.
var Works = csrc.Works[:]

// defaultLoops take about 0.2 s in each process, on two CPUs and on one. Two processes on one CPU wake each other
// without an interrupt to another CPU, but with shared memory they pass the turn only by giving up the CPU: after 20
// µs if sched_yield(2) does that, otherwise after a time slice of some milliseconds.
var defaultLoops = map[string]struct{ apart, sameCPU uint64 }{
	"syscall":        {1_000_000, 1_000_000},
	"spin":           {100_000_000, 100_000_000},
	"sum":            {300_000_000, 300_000_000},
	"pingpong-pipe":  {2_000, 50_000},
	"pingpong-futex": {2_000, 50_000},
	"pingpong-shm":   {500_000, 500},
}

// DefaultLoops returns the loops of each process if none are given.
func DefaultLoops(work string, relation topology.Relation) uint64 {
	if relation == topology.SameCPU {
		return defaultLoops[work].sameCPU
	}
	return defaultLoops[work].apart
}

// AutoRows returns a row for each relation of two CPUs, nearest first: the pair from Machine.PerRelation, or the
// reason why no two of the CPUs have the relation. loops is per process; 0 stands for DefaultLoops.
func AutoRows(m *topology.Machine, cpus cpuset.Set, work string, loops uint64) []result.PairRow {
	pairs := m.PerRelation(cpus)
	rows := make([]result.PairRow, 0, len(topology.Relations))
	for _, relation := range topology.Relations {
		i := slices.IndexFunc(pairs, func(p topology.CPUPair) bool { return p.Relation == relation })
		if i < 0 {
			rows = append(rows, result.PairRow{CPUA: -1, CPUB: -1, Relation: relation.String(), Lacking: relation.Lacking()})
			continue
		}
		rows = append(rows, Row(pairs[i], work, loops))
	}
	return rows
}

// Row returns the pair in the form of results.
func Row(p topology.CPUPair, work string, loops uint64) result.PairRow {
	return result.PairRow{
		CPUA: p.A, CPUB: p.B, Relation: p.Relation.String(), Loops: cmp.Or(loops, DefaultLoops(work, p.Relation)),
	}
}

// LackingWarning returns a warning about the relations without a pair; false if all have one.
func LackingWarning(rows []result.PairRow) (w result.Warning, some bool) {
	var names, reasons []string
	for _, row := range rows {
		if row.Lacking != "" {
			names = append(names, row.Relation)
			reasons = append(reasons, fmt.Sprintf("%s (%s)", row.Relation, row.Lacking))
		}
	}
	if len(names) == len(rows)-1 {
		return result.Warning{
			Code:    "one-pair",
			Message: "the run has one CPU, so there is nothing to compare: " + strings.Join(names, ", ") + " need two or more",
			Hint:    "give more by --cpus; gorun topo shows which are ours",
		}, true
	}
	return result.Warning{
		Code: "no-pair", Message: "no two CPUs of the run are " + strings.Join(reasons, ", "),
	}, len(names) > 0
}
