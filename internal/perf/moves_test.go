package perf

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/result"
	"gorun/internal/tests/hosts"
	"gorun/internal/topology"
)

// The counts are those of the moves, each pair of CPUs once and in order, however the moves are parted.
func TestCountMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cpu := rapid.IntRange(0, 3)
		want := map[Move]uint64{}
		var counts []MoveCount
		for range rapid.IntRange(0, 5).Draw(t, "parts") {
			var moves []Move
			for ns := range rapid.IntRange(0, 10).Draw(t, "moves") {
				m := Move{int64(ns), cpu.Draw(t, "from"), cpu.Draw(t, "to")}
				moves = append(moves, m)
				want[Move{0, m.From, m.To}]++
			}
			counts = CountMoves(counts, moves)
		}
		require.Len(t, counts, len(want))
		for i, c := range counts {
			require.Equal(t, want[Move{0, c.From, c.To}], c.Count)
			if i > 0 {
				before := counts[i-1]
				require.Less(t, 4*before.From+before.To, 4*c.From+c.To)
			}
		}
	})
}

func classified(m *topology.Machine, moves ...Move) result.Migrations {
	return Classify(m, CountMoves(nil, moves))
}

func TestClassifyOfAMachine(t *testing.T) {
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

// Every move is of one kind, and leaves and reaches a node when it crosses.
func TestClassifyProperty(t *testing.T) {
	machines := hosts.All(t)
	names := slices.Sorted(maps.Keys(machines))
	rapid.Check(t, func(t *rapid.T) {
		m := machines[rapid.SampledFrom(names).Draw(t, "machine")]
		cpu := rapid.IntRange(0, len(m.CPUs)+1)
		moves := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Move {
			return Move{From: cpu.Draw(t, "from"), To: cpu.Draw(t, "to")}
		})).Filter(func(moves []Move) bool {
			return !slices.ContainsFunc(moves, func(m Move) bool { return m.From == m.To })
		}).Draw(t, "moves")
		n := classified(m, moves...)
		require.Equal(t, uint64(len(moves)), n.Total)
		require.Equal(t, n.Total, n.SameCore+n.SameLLC+n.SameNode+n.CrossNode)
		sum := func(counts map[string]uint64) (sum uint64) {
			for _, count := range counts {
				sum += count
			}
			return sum
		}
		require.Equal(t, n.CrossNode, sum(n.FromNode))
		require.Equal(t, n.CrossNode, sum(n.ToNode))
	})
}
