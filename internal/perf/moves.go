package perf

import (
	"cmp"
	"slices"
	"strconv"

	"gorun/internal/result"
	"gorun/internal/topology"
)

// MoveCount is the number of moves from one CPU to another.
type MoveCount struct {
	From  int    `json:"from"`
	To    int    `json:"to"`
	Count uint64 `json:"count"`
}

// CountMoves adds moves to nil or to the counts that it returned before, and returns them in ascending order of From,
// then To.
func CountMoves(counts []MoveCount, moves []Move) []MoveCount {
	for _, move := range moves {
		i, found := slices.BinarySearchFunc(counts, move, func(c MoveCount, m Move) int {
			return cmp.Or(cmp.Compare(c.From, m.From), cmp.Compare(c.To, m.To))
		})
		if !found {
			counts = slices.Insert(counts, i, MoveCount{From: move.From, To: move.To})
		}
		counts[i].Count++
	}
	return counts
}

// Classify sums moves by the relation of the two CPUs.
func Classify(m *topology.Machine, counts []MoveCount) result.Migrations {
	n := result.Migrations{FromNode: map[string]uint64{}, ToNode: map[string]uint64{}}
	for _, c := range counts {
		n.Total += c.Count
		switch m.Relation(c.From, c.To) {
		case topology.SameCore:
			n.SameCore += c.Count
		case topology.SameLLC:
			n.SameLLC += c.Count
		case topology.SameNode:
			n.SameNode += c.Count
		case topology.CrossNode:
			n.CrossNode += c.Count
			n.FromNode[strconv.Itoa(m.NodeOf(c.From))] += c.Count
			n.ToNode[strconv.Itoa(m.NodeOf(c.To))] += c.Count
		}
	}
	return n
}
