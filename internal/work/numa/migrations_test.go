package numa

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/machine/perf"
)

func TestWithin(t *testing.T) {
	spans := []span{{begun: 10, ended: 20}, {begun: 30, ended: 40}}
	var moves []perf.Move
	for _, ns := range []int64{9, 10, 19, 20, 25, 30, 39, 40} {
		moves = append(moves, perf.Move{NS: ns})
	}
	assert.Equal(t, []perf.Move{{NS: 10}, {NS: 19}, {NS: 30}, {NS: 39}}, within(spans, moves))
	assert.Len(t, moves, 8, "they are not changed")
	assert.EqualValues(t, 9, moves[0].NS)
	assert.Empty(t, within(nil, moves))
}

func TestShares(t *testing.T) {
	m := hosts.Machine(t, "qemu-numa2") // CPUs 0-3 and 4-7
	reads := func(pairs ...int64) (seen []perf.CPURead) {
		for i := 0; i < len(pairs); i += 2 {
			seen = append(seen, perf.CPURead{NS: pairs[i], CPU: int(pairs[i+1])})
		}
		return seen
	}
	cpus, nodes := shares(m, []span{{begun: 5, ended: 6, seen: reads(5, 0)}})
	assert.Equal(t, map[int]float64{0: 1}, cpus)
	assert.Equal(t, map[int]float64{0: 1}, nodes)
	cpus, nodes = shares(m, []span{
		{begun: 0, ended: 100, seen: reads(0, 0, 10, 4, 20, 1, 30, 3)},
		{begun: 1000, ended: 1100, seen: reads(1000, 3, 1060, 7)},
	})
	assert.InDeltaMapValues(t, map[int]float64{0: 0.05, 4: 0.05, 1: 0.05, 3: 0.65, 7: 0.2}, cpus, 1e-9)
	assert.InDeltaMapValues(t, map[int]float64{0: 0.75, 1: 0.25}, nodes, 1e-9)
	for _, blind := range [][]span{
		nil,
		{{begun: 5, ended: 6}}, // the CPU was not read
		{{begun: 5, ended: 6, seen: reads(5, -1)}}, // the CPU is unknown
	} {
		cpus, nodes = shares(m, blind)
		assert.Nil(t, cpus)
		assert.Nil(t, nodes)
	}
}
