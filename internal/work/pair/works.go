package pair

import (
	"cmp"

	"gorun/csrc"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// Works lists the works of a pair's processes, the default first.
var Works = csrc.Works[:]

// defaultLoops take about 0.1 s in each process, on two CPUs and on one. Two processes on one CPU wake each other
// without an interrupt to another CPU, but with shared memory they pass the turn only by giving up the CPU: after 20
// µs if sched_yield(2) does that, otherwise after a time slice of some milliseconds.
var defaultLoops = map[string]struct{ apart, sameCPU uint64 }{
	"syscall":        {500_000, 500_000},
	"spin":           {50_000_000, 50_000_000},
	"sum":            {150_000_000, 150_000_000},
	"pingpong-pipe":  {1_000, 25_000},
	"pingpong-futex": {1_000, 25_000},
	"pingpong-shm":   {500_000, 500},
}

// DefaultLoops returns the loops of each process if none are given.
func DefaultLoops(work string, relation topology.Relation) uint64 {
	if relation == topology.SameCPU {
		return defaultLoops[work].sameCPU
	}
	return defaultLoops[work].apart
}

// Row returns the pair in the form of results. loops is per process; 0 stands for DefaultLoops.
func Row(p topology.CPUPair, work string, loops uint64) result.PairRow {
	row := result.PairRow{CPUA: p.A, CPUB: p.B, Relation: p.Relation.String(), Unavailable: p.Unavailable()}
	if row.Unavailable == "" {
		row.Loops = cmp.Or(loops, DefaultLoops(work, p.Relation))
	}
	return row
}
