package numa

import (
	"slices"

	"gorun/internal/machine/perf"
	"gorun/internal/machine/topology"
)

// span is a repetition of the timed loop, with its start and end by CLOCK_MONOTONIC in nanoseconds.
type span struct {
	begun, ended int64
	seconds      float64        // of the loop alone
	seen         []perf.CPURead // by the probe itself; the first at its start
}

// within returns the moves during repetitions, in order.
func within(spans []span, moves []perf.Move) []perf.Move {
	return slices.DeleteFunc(slices.Clone(moves), func(move perf.Move) bool {
		return !slices.ContainsFunc(spans, func(s span) bool { return s.begun <= move.NS && move.NS < s.ended })
	})
}

// shares returns the parts of the repetitions' time that the probe was on each CPU and on each node, by its own reads;
// nil without reads.
func shares(m *topology.Machine, spans []span) (cpus, nodes map[int]float64) {
	var whole float64
	on := map[int]float64{}
	for _, s := range spans {
		for i, read := range s.seen {
			until := s.ended
			if i+1 < len(s.seen) {
				until = s.seen[i+1].NS
			}
			if read.CPU < 0 {
				return nil, nil
			}
			on[read.CPU] += float64(until - read.NS)
			whole += float64(until - read.NS)
		}
	}
	if whole == 0 {
		return nil, nil
	}
	cpus, nodes = map[int]float64{}, map[int]float64{}
	for cpu, ns := range on {
		cpus[cpu] = ns / whole
		nodes[m.NodeOf(cpu)] += ns / whole
	}
	return cpus, nodes
}
