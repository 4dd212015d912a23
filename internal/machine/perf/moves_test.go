package perf

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

func TestMovesOf(t *testing.T) {
	assert.Empty(t, MovesOf(nil))
	assert.Empty(t, MovesOf([]CPURead{{1, 3}, {2, 3}}), "the first CPU is not a move")
	assert.Equal(t,
		[]Move{{20, 3, 0}, {50, 0, 3}},
		MovesOf([]CPURead{{10, 3}, {20, 0}, {30, 0}, {40, -1}, {50, 3}}))
}

// Each pair of CPUs is there once, in order, however the moves are parted.
func TestCountMoves(t *testing.T) {
	counts := CountMoves(nil, []Move{{1, 2, 0}, {2, 0, 2}, {3, 2, 0}})
	counts = CountMoves(counts, []Move{{4, 0, 1}, {5, 2, 0}})
	assert.Equal(t, []MoveCount{{0, 1, 1}, {0, 2, 1}, {2, 0, 3}}, counts)
	assert.Empty(t, CountMoves(nil, nil))
}

func classified(m *topology.Machine, moves ...Move) result.Migrations {
	return Classify(m, CountMoves(nil, moves))
}

func TestClassify(t *testing.T) {
	m := hosts.Machine(t, "qemu-epyc8") // nodes of 4 CPUs, each of 2 LLCs of 2 CPUs; no SMT
	moves := []Move{
		{NS: 100, From: 0, To: 1}, {NS: 200, From: 1, To: 2}, {NS: 300, From: 2, To: 4}, {NS: 500, From: 4, To: 31},
	}
	assert.Equal(t, result.Migrations{
		Total: 4, SameLLC: 1, SameNode: 1, CrossNode: 2,
		FromNode: map[string]uint64{"0": 1, "1": 1}, ToNode: map[string]uint64{"1": 1, "7": 1},
	}, classified(m, moves...))
	assert.Equal(t, result.Migrations{FromNode: map[string]uint64{}, ToNode: map[string]uint64{}}, classified(m))

	smt := classified(hosts.Machine(t, "qemu-numa2"), Move{From: 0, To: 1}, Move{From: 0, To: 2}, Move{From: 0, To: 99})
	assert.Equal(t, result.Migrations{
		Total: 3, SameCore: 1, SameLLC: 1, CrossNode: 1,
		FromNode: map[string]uint64{"0": 1}, ToNode: map[string]uint64{"-1": 1},
	}, smt, "a CPU that came later is on no known node")
}
